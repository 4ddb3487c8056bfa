import { z } from 'zod';
import type { RunningWorker } from '../platform/queues.ts';
import type { SignInStep } from './accounts.ts';
import type { FeatureParts } from './extension.ts';

/** Puts lists one after the other. */
function concatenate<T>(lists: readonly (readonly T[])[]): readonly T[] {
  return lists.flat();
}

/** Puts records together. Throws for a name that two have: one would silently replace the other. */
function record<T>(records: readonly Readonly<Record<string, T>>[]): Record<string, T> {
  const entries = records.flatMap((one) => Object.entries(one));
  const merged = Object.fromEntries(entries);
  if (Object.keys(merged).length < entries.length)
    throw new Error(`two parts have the same name: ${entries.map(([name]) => name).join(', ')}`);
  return merged;
}

/** Merges what records have under the same name. */
function byName<T>(merge: (values: readonly T[]) => T) {
  return (records: readonly Readonly<Record<string, T>>[]): Record<string, T> => {
    const entries = records.flatMap((one) => Object.entries(one));
    const names = Map.groupBy(entries, ([name]) => name);
    return Object.fromEntries(
      [...names].map(([name, same]) => [
        name,
        single(
          merge,
          same.map(([, value]) => value),
        ),
      ]),
    );
  };
}

/** A single value stays as it is. */
function single<T>(merge: (values: readonly T[]) => T, values: readonly T[]): T {
  return values.length === 1 ? values[0]! : merge(values);
}

/** Runs steps one after the other. */
function chain<Arguments extends unknown[]>(steps: readonly ((...given: Arguments) => Promise<void>)[]) {
  return async (...given: Arguments): Promise<void> => {
    for (const step of steps) await step(...given);
  };
}

/** The first step that asks for something holds up the login. */
function firstToAsk(steps: readonly SignInStep[]): SignInStep {
  return {
    output: z.xor(steps.map(({ output }) => output)),
    async ask(login) {
      for (const step of steps) {
        const asked = await step.ask(login);
        if (asked !== undefined) return asked;
      }
      return undefined;
    },
  };
}

type Listener = (payload: never) => unknown;

/** Calls every listener, whether or not another one fails. */
function callAll(listeners: readonly Listener[]): Listener {
  return async (payload) => {
    const results = await Promise.allSettled(listeners.map(async (listener) => listener(payload)));
    const failed = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as unknown);
    if (failed.length === 1) throw failed[0];
    if (failed.length > 1) throw new AggregateError(failed, 'several listeners failed');
  };
}

type StartWorker = () => RunningWorker | Promise<RunningWorker>;

/** Starts workers in order and stops them in reverse order. When one does not start, those that run are stopped. */
function startAll(starts: readonly StartWorker[]): StartWorker {
  return async () => {
    const running: RunningWorker[] = [];
    const stop = async () => {
      for (const worker of running.reverse()) await worker.stop();
    };
    try {
      for (const start of starts) running.push(await start());
    } catch (error) {
      await stop();
      throw error;
    }
    return { stop };
  };
}

/** How parts of each kind become one. */
const MERGE: { [Kind in keyof FeatureParts]-?: (parts: readonly NonNullable<FeatureParts[Kind]>[]) => unknown } = {
  routes: concatenate,
  pages: concatenate,
  authenticators: concatenate,
  signInStep: firstToAsk,
  revocationStep: chain,
  confirmStep: chain,
  consumers: concatenate,
  sweeps: concatenate,
  jobs: record,
  workers: byName<StartWorker>(startAll),
  mails: record,
  encrypted: concatenate,
  userData: concatenate,
  listeners: byName(callAll),
  sent: concatenate,
  api: (apis) => record(apis as Record<string, unknown>[]),
  checkConfig: (checks) => (errors: Parameters<(typeof checks)[number]>[0]) => {
    for (const check of checks) check(errors);
  },
};

/** The parts of several features as those of one. Throws when two bring a job, an e-mail or a member of `api` of the same name. */
export function mergeParts(...parts: readonly FeatureParts[]): FeatureParts {
  const merged: Record<string, unknown> = {};
  for (const kind of Object.keys(MERGE) as (keyof FeatureParts)[]) {
    const given = parts.flatMap((part) => (part[kind] === undefined ? [] : [part[kind]]));
    if (given.length > 0) merged[kind] = single(MERGE[kind] as (values: readonly unknown[]) => unknown, given);
  }
  return merged;
}
