import { Redis } from 'ioredis';
import { afterAll, expect, vi } from 'vitest';
import {
  adminConsole,
  apiKeys,
  audit,
  defineJob,
  defineResource,
  defineUser,
  f,
  invitations,
  realtime,
} from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

const note = defineResource('note', {
  fields: { title: f.string().required() },
  policies: { list: 'public', read: 'public', create: 'public' },
});
export const resources = [defineUser(), note];

export const PRODUCTION = {
  NODE_ENV: 'production',
  DRAIN_DELAY_MS: '0',
  APP_URL: 'https://api.example.com',
  APP_VERSION: 'release-7',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  LOG_LEVEL: 'silent',
};

const settings = {
  rateLimit: {
    enabled: true,
    global: { limit: 100_000, windowMs: 60_000 },
    auth: { limit: 40, windowMs: 60_000 },
  },
  slowLog: { requestMs: 0, statementMs: 0 },
};

const jobs = [defineJob('tidy', { run: () => undefined })];
/** What the app declares. Every request and statement is slow. */
export const declarations = {
  resources,
  jobs,
  settings,
  extensions: [audit(), apiKeys(), invitations({ policy: 'admin' }), realtime(), adminConsole({ production: true })],
};
/** The path of the tab. */
export const API = '/console/api/operations';

/** Starts an app in production for the test file, with an administrator, and a connection to its Redis. */
export async function startOperationsApp() {
  const started = await startTestApp(declarations, { roles: 'all', env: () => PRODUCTION });
  const admin = await started.person('Root', ['user', 'admin']);
  const redis = new Redis(started.env.REDIS_URL!);
  afterAll(() => redis.disconnect());
  const processKeys = `${started.env.REDIS_PREFIX}:{processes}`;
  return {
    ...started,
    admin,
    redis,
    /** Reads a route of the tab as the administrator. */
    async read(path: string) {
      const { status, body } = await admin.call('GET', API + path);
      expect([path, status]).toEqual([path, 200]);
      return body.data;
    },
    /** The oldest entry of the audit trail about an action. */
    entryOf: (action: string) =>
      vi.waitUntil(async () => {
        const { body } = await admin.call('GET', `/console/api/audit/entries?action=${action}`);
        return body.data.at(-1);
      }),
    /** Writes the state of a process to Redis, as another version of Belfry might do. */
    async writeState(id: string, state: string, slow?: string, seenAt: number | string = Date.now()) {
      await redis.hset(`${processKeys}:state`, id, state);
      if (slow !== undefined) await redis.hset(`${processKeys}:slow`, id, slow);
      await redis.zadd(`${processKeys}:seen`, seenAt, id);
    },
    async removeState(...ids: string[]) {
      await redis.zrem(`${processKeys}:seen`, ...ids);
    },
  };
}
