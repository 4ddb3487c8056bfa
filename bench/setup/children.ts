import { fork } from 'node:child_process';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A process that the benchmark started. */
export interface Child {
  /** The URL of its server; empty if it has none. */
  url: string;
  /** Sends it a request and waits for the result. */
  call<T>(name: string, argument?: unknown): Promise<T>;
  stop(): Promise<void>;
  /** Sends SIGTERM, or another signal, and waits until the process has ended. */
  terminate(signal?: NodeJS.Signals): Promise<void>;
}

interface Message {
  ready?: string;
  id?: number;
  value?: unknown;
  error?: string;
}

const START_TIMEOUT_MS = 30_000;
const STOP_GRACE_MS = 3000;

/** Starts the processes of a run. */
export interface Children {
  /**
   * @param program a file in `bench/processes` or `bench/baselines`
   * @param nodeOptions options of its Node
   */
  start(program: URL, environment: Record<string, string>, nodeOptions?: readonly string[]): Promise<Child>;
  /** Stops all processes that still run. */
  stopAll(): Promise<void>;
}

/** @param profiles a folder for a CPU profile of each process; undefined for none */
export function createChildren(profiles: string | undefined): Children {
  const running = new Set<Child>();
  const profileOptions = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`];

  async function start(
    program: URL,
    environment: Record<string, string>,
    nodeOptions: readonly string[] = [],
  ): Promise<Child> {
    const name = basename(program.pathname, '.ts');
    const options = { execArgv: [...profileOptions, ...nodeOptions], env: { PATH: process.env.PATH, ...environment } };
    // Its standard output must not mix with ours, which may be JSON for a program.
    const child = fork(fileURLToPath(program), { ...options, stdio: ['ignore', 2, 2, 'ipc'] });
    const pendingCalls = new Map<number, PromiseWithResolvers<unknown>>();
    const started = Promise.withResolvers<string>();
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    const timer = setTimeout(
      () => started.reject(new Error(`${name} did not start within ${START_TIMEOUT_MS / 1000} s`)),
      START_TIMEOUT_MS,
    );
    let lastId = 0;

    child.on('message', ({ ready, id, value, error }: Message) => {
      if (ready !== undefined) started.resolve(ready);
      if (id === undefined) return;
      if (error === undefined) pendingCalls.get(id)?.resolve(value);
      else pendingCalls.get(id)?.reject(new Error(`${name}: ${error}`));
      pendingCalls.delete(id);
    });
    child.on('error', (error) => started.reject(error));
    child.on('exit', (code) => {
      const exitError = new Error(`${name} ended with exit code ${code}`);
      started.reject(exitError);
      for (const call of pendingCalls.values()) call.reject(exitError);
    });

    const handle: Child = {
      url: '',
      call<T>(method: string, argument?: unknown) {
        const reply = Promise.withResolvers<unknown>();
        pendingCalls.set(++lastId, reply);
        child.send({ id: lastId, name: method, argument });
        return reply.promise as Promise<T>;
      },
      async terminate(signal = 'SIGTERM') {
        running.delete(handle);
        child.kill(signal);
        await ended;
      },
      async stop() {
        running.delete(handle);
        if (child.connected) child.disconnect();
        const killTimer = setTimeout(() => child.kill('SIGKILL'), STOP_GRACE_MS);
        await ended;
        clearTimeout(killTimer);
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
