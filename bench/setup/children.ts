import { fork } from 'node:child_process';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A process that the bench has started. */
export interface Child {
  /** The address where it serves; empty if it does not. */
  url: string;
  /** Sends it a request and waits for the result. */
  ask<T>(name: string, argument?: unknown): Promise<T>;
  stop(): Promise<void>;
}

interface Message {
  ready?: string;
  id?: number;
  value?: unknown;
  error?: string;
}

const START_MS = 30_000;
const GRACE_MS = 3000;

/** Starts the processes of a run. */
export interface Children {
  /** @param program a file in `bench/processes` */
  start(program: URL, environment: Record<string, string>): Promise<Child>;
  /** Stops all processes that still run. */
  stopAll(): Promise<void>;
}

/** @param profiles a folder for a CPU profile of each process; undefined for none */
export function createChildren(profiles: string | undefined): Children {
  const running = new Set<Child>();
  const execArgv = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`];

  async function start(program: URL, environment: Record<string, string>): Promise<Child> {
    const name = basename(program.pathname, '.ts');
    const options = { execArgv, env: { PATH: process.env.PATH, ...environment } };
    // Its standard output must not mix with ours, which may be JSON for a program.
    const child = fork(fileURLToPath(program), { ...options, stdio: ['ignore', 2, 2, 'ipc'] });
    const waiting = new Map<number, PromiseWithResolvers<unknown>>();
    const started = Promise.withResolvers<string>();
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const timer = setTimeout(() => started.reject(new Error(`${name} did not start in time`)), START_MS);
    let asked = 0;

    child.on('message', ({ ready, id, value, error }: Message) => {
      if (ready !== undefined) started.resolve(ready);
      if (id === undefined) return;
      if (error === undefined) waiting.get(id)?.resolve(value);
      else waiting.get(id)?.reject(new Error(`${name}: ${error}`));
      waiting.delete(id);
    });
    child.on('error', (error) => started.reject(error));
    child.on('exit', (code) => {
      const gone = new Error(`${name} ended with exit code ${code}`);
      started.reject(gone);
      for (const one of waiting.values()) one.reject(gone);
    });

    const handle: Child = {
      url: '',
      ask<T>(question: string, argument?: unknown) {
        const answer = Promise.withResolvers<unknown>();
        waiting.set(++asked, answer);
        child.send({ id: asked, name: question, argument });
        return answer.promise as Promise<T>;
      },
      async stop() {
        running.delete(handle);
        if (child.connected) child.disconnect();
        const late = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
        await ended;
        clearTimeout(late);
      },
    };
    running.add(handle);
    try {
      handle.url = await started.promise;
    } finally {
      clearTimeout(timer);
    }
    return handle;
  }

  return {
    start,
    async stopAll() {
      await Promise.all([...running].map((child) => child.stop()));
    },
  };
}
