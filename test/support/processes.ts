import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import type { Role } from '../../src/declare/extension.ts';
import type { TestDatabase } from './database.ts';

const root = join(import.meta.dirname, '..', '..');

/** A process of the app, as the Procfile starts it. */
export interface AppProcess {
  child: ChildProcess;
  /** Everything that it printed so far. */
  said(): string;
  /** Where it listens, once it does. */
  url(): Promise<string>;
  /** Resolves with the exit code, or the signal that ended it. */
  ended: Promise<number | string>;
}

/** What every process of a test gets from its environment: nothing that a setting of the app could come from. */
export const BARE_ENV = { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE };

/** The environment of a process that plays its role alone, as in the Procfile, with a database of the test's. */
export const envOfOneRole = (database: TestDatabase) => ({
  NODE_ENV: 'development',
  LOG_LEVEL: 'error',
  PORT: '0',
  DATABASE_URL: database.databaseUrl,
  REDIS_URL: database.redisUrl,
  REDIS_PREFIX: database.redisPrefix,
  RELAY: 'off',
  WEBHOOKS_WORKER: 'off',
  PUSH_WORKER: 'off',
});

/** Starts the file of a process with this environment and no other. It is killed when the test ends. */
export function startProcess(file: string, env: Record<string, string>, ...args: string[]): AppProcess {
  const child = spawn(process.execPath, [join(root, file), ...args], {
    cwd: root,
    env: { ...BARE_ENV, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal);
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return {
    child,
    said: () => said,
    url: () => vi.waitUntil(() => /listens on (\S+)/.exec(said)?.[1], { timeout: 60_000, interval: 25 }),
    ended,
  };
}

/** Starts a process of the blog of test/fixtures: `web` is like src/web.ts, another role like that worker. */
export const startBlog = (role: Role, env: Record<string, string>): AppProcess =>
  startProcess('test/fixtures/blog/process.ts', env, role);
