import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { createApp, defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const resources = [defineUser(), defineResource('note', { fields: { text: f.string() } })];
const { env } = await startTestApp({ resources });
const holder = new Client({ connectionString: env.DATABASE_URL! });
await holder.connect();
afterAll(() => holder.end());

const start = (app: ReturnType<typeof createApp>) => app.start({ port: 0 });
const sync = (app: ReturnType<typeof createApp>) => app.migrate({ mode: 'sync' });

// The third column is the table that the step waits for while it is locked.
test.each([
  ['it checks the tables', start, 'pg_namespace'],
  ['it records the encryption keys', start, 'encryption_keys'],
  ['it syncs the database', sync, 'pg_namespace'],
])('a start that loses Postgres while %s starts over once Postgres is back', async (_, work, table) => {
  const proxy = await startTcpProxy(new URL(env.DATABASE_URL!));
  const app = createApp({ resources }, { ...env, DATABASE_URL: proxy.url, LOG_LEVEL: 'silent' });
  onTestFinished(async () => {
    await app.close();
    proxy.close();
  });
  await holder.query(`begin; lock table ${table} in access exclusive mode`);
  const done = work(app);
  const waiting = `select 1 from pg_locks where not granted and relation = '${table}'::regclass`;
  await vi.waitUntil(async () => (await holder.query(waiting)).rowCount, { timeout: 60_000, interval: 10 });
  proxy.shut();
  await holder.query('rollback');
  proxy.reopen();
  const started = await done;
  if (started !== undefined) expect((await fetch(`${started.url}/readyz`)).status).toBe(200);
});
