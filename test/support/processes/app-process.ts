import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import type { ProcessRole } from '../../../src/declare/process-role.ts';
import type { TestDatabase } from '../database/test-database.ts';

const root = join(import.meta.dirname, '..', '..', '..');

/** A process of the app, as the Procfile starts it. */
export interface AppProcess {
  child: ChildProcess;
  /** Everything that it has printed so far. */
  output(): string;
  /** The URL on which it listens, once it does. */
  url(): Promise<string>;
  /** Resolves with the exit code, or with the signal that ended it. */
  ended: Promise<number | string>;
}

/** The environment that every test process inherits; it has no variable that could configure the app. */
export const BARE_ENV = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };

/** The environment of a process that runs a single role, as in the Procfile, on the test's database. */
export const createRoleEnv = (database: TestDatabase) => ({
  NODE_ENV: 'development',
  LOG_LEVEL: 'error',
  PORT: '0',
  ...database.appVariables,
  REDIS_URL: database.redisUrl,
  REDIS_PREFIX: database.redisPrefix,
  RELAY: 'off',
  WEBHOOKS_WORKER: 'off',
  PUSH_WORKER: 'off',
  JOB_WORKER: 'off',
});

/** Starts a process from a file with only this environment. It is killed when the test ends. */
export function startProcess(file: string, env: Record<string, string>, ...args: string[]): AppProcess {
  const child = spawn(process.execPath, [join(root, file), ...args], {
    cwd: root,
    env: { ...BARE_ENV, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  // Not `exit`, which comes before the last output is read.
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return {
    child,
    output: () => output,
    url: () => vi.waitUntil(() => /listens on (\S+)/.exec(output)?.[1], { timeout: 60_000, interval: 25 }),
    ended,
  };
}

/** Starts a process of the blog in test/fixtures: `web` like src/web.ts, any other role like its worker. */
export const startBlog = (role: ProcessRole, env: Record<string, string>): AppProcess =>
  startProcess('test/fixtures/blog/process.ts', env, role);
