import type { RunningWorker } from '../platform/work/queues/queues.ts';
import type { FeatureParts } from './extension.ts';

function concatenateLists<T>(lists: readonly (readonly T[])[]): readonly T[] {
  return lists.flat();
}

/** Merges objects. Throws for a duplicate name: one value would silently replace the other. */
function mergeDisjointObjects<T>(records: readonly Readonly<Record<string, T>>[]): Record<string, T> {
  const entries = records.flatMap((one) => Object.entries(one));
  const merged = Object.fromEntries(entries);
  if (Object.keys(merged).length < entries.length)
    throw new Error(`two parts have the same name: ${entries.map(([name]) => name).join(', ')}`);
  return merged;
}

/** Creates a function that merges objects: `merge` combines the values that several objects have under the same name. */
function createMergeByName<T>(merge: (values: readonly T[]) => T) {
  return (records: readonly Readonly<Record<string, T>>[]): Record<string, T> => {
    const entries = records.flatMap((one) => Object.entries(one));
    const names = Map.groupBy(entries, ([name]) => name);
    return Object.fromEntries(
      [...names].map(([name, same]) => [
        name,
        mergeIfSeveral(
          merge,
          same.map(([, value]) => value),
        ),
      ]),
    );
  };
}

/** Merges values. A single value is returned unchanged. */
function mergeIfSeveral<T>(merge: (values: readonly T[]) => T, values: readonly T[]): T {
  return values.length === 1 ? values[0]! : merge(values);
}

/** Combines steps into one that runs them in sequence. */
function chainSteps<Arguments extends unknown[]>(steps: readonly ((...given: Arguments) => Promise<void>)[]) {
  return async (...given: Arguments): Promise<void> => {
    for (const step of steps) await step(...given);
  };
}

type Listener = (payload: never) => unknown;

/** Combines listeners into one that calls each of them, even if another listener fails. */
function combineListeners(listeners: readonly Listener[]): Listener {
  return async (payload) => {
    const results = await Promise.allSettled(listeners.map(async (listener) => listener(payload)));
    const failed = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason as unknown);
    if (failed.length === 1) throw failed[0];
    if (failed.length > 1) throw new AggregateError(failed, 'several listeners failed');
  };
}

type StartWorker = () => RunningWorker | Promise<RunningWorker>;

/**
 * Combines functions that start workers: they run in order, and their workers stop at the same time. If a worker fails to start, those
 * that were already started are stopped.
 */
function combineWorkerStarts(starts: readonly StartWorker[]): StartWorker {
  return async () => {
    const running: RunningWorker[] = [];
    const stopStartedWorkers = async () => {
      await Promise.all(running.toReversed().map((worker) => worker.stop()));
    };
    try {
      for (const start of starts) running.push(await start());
    } catch (error) {
      await stopStartedWorkers();
      throw error;
    }
    const isRunning = () => running.every((worker) => worker.isRunning?.() !== false);
    return { stop: stopStartedWorkers, isRunning };
  };
}

/** How parts of each kind are merged. */
const MERGE_BY_KIND: {
  [Kind in keyof FeatureParts]-?: (parts: readonly NonNullable<FeatureParts[Kind]>[]) => unknown;
} = {
  routes: concatenateLists,
  pages: concatenateLists,
  dependentPages: () => {
    throw new Error('dependent pages are not merged: the app calls each function once');
  },
  consoleTabs: concatenateLists,
  accountPanels: concatenateLists,
  accountSections: concatenateLists,
  authenticators: concatenateLists,
  signInStep: () => {
    throw new Error('sign-in steps are not merged: accounts run them one after the other');
  },
  signInMethods: concatenateLists,
  revocationStep: chainSteps,
  confirmStep: chainSteps,
  secondFactors: concatenateLists,
  administratorPolicies: concatenateLists,
  emailChangeStep: chainSteps,
  consumers: concatenateLists,
  sweeps: concatenateLists,
  jobs: mergeDisjointObjects,
  workers: createMergeByName<StartWorker>(combineWorkerStarts),
  backlogs: concatenateLists,
  mails: mergeDisjointObjects,
  encrypted: concatenateLists,
  diagnoses: concatenateLists,
  userData: concatenateLists,
  listeners: createMergeByName(combineListeners),
  sent: concatenateLists,
  publishEvent: () => {
    throw new Error('two features publish events to webhook endpoints');
  },
  auditTrail: () => {
    throw new Error('two features have an audit trail');
  },
  organisationAccess: () => {
    throw new Error('two features have organisations');
  },
  api: (apis) => mergeDisjointObjects(apis as Record<string, unknown>[]),
  checkConfig: (checks) => (errors: Parameters<(typeof checks)[number]>[0]) => {
    for (const check of checks) check(errors);
  },
};

/** Merges the parts of several features. Throws if two features define a job, an e-mail or a member of `api` with the same name. */
export function mergeParts(...parts: readonly FeatureParts[]): FeatureParts {
  const merged: Record<string, unknown> = {};
  for (const kind of Object.keys(MERGE_BY_KIND) as (keyof FeatureParts)[]) {
    const given = parts.flatMap((part) => (part[kind] === undefined ? [] : [part[kind]]));
    if (given.length > 0)
      merged[kind] = mergeIfSeveral(MERGE_BY_KIND[kind] as (values: readonly unknown[]) => unknown, given);
  }
  return merged;
}
