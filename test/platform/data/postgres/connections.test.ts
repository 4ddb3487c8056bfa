// The connections of an app to Postgres: their settings, their number, and how requests and starts get over an outage.
import pg from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { createApp, defineResource, defineUser, f } from '../../../../src/index.ts';
import { openDatabase } from '../../../../src/platform/data/postgres/database.ts';
import { toPublicDatabaseError } from '../../../../src/platform/data/postgres/errors.ts';
import { logConnectionLimits } from '../../../../src/platform/data/postgres/server-limits.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { startTestApp } from '../../../support/app.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public' } as const;
const note = defineResource('note', { fields: { text: f.string().required() }, policies: open });
const sample = defineResource('sample', {
  fields: { taken: f.date().filterable().sortable(), value: f.number(), label: f.string() },
  policies: open,
  hooks: { beforeUpdate: () => undefined },
});
const resources = [defineUser(), note, sample];
const requestedOptions = '-c search_path=public -c timezone=Asia/Kolkata -c datestyle=SQL,DMY -c extra_float_digits=-3';
const postgres = await startTcpProxy(new URL(process.env.TEST_DATABASE_URL!));
afterAll(() => postgres.close());
/** The address of the database without the proxy and the options. */
let ownAddress = '';
const { call, env } = await startTestApp(
  { resources },
  {
    env: ({ DATABASE_URL }) => {
      ownAddress = DATABASE_URL;
      const { pathname } = new URL(DATABASE_URL);
      return {
        DATABASE_URL: new URL(`${pathname}?options=${encodeURIComponent(requestedOptions)}`, postgres.url).href,
      };
    },
  },
);

/** Opens a number of sessions in the app's database as the owner of the database. */
async function openSessions(count: number): Promise<pg.Client[]> {
  const clients = Array.from({ length: count }, () => new pg.Client(ownAddress));
  for (const client of clients) await client.connect();
  onTestFinished(async () => {
    for (const client of clients) await client.end();
  });
  return clients;
}

test('statements are planned without JIT compilation, unless the options of the address ask for it', async () => {
  for (const [options, jit] of [
    [requestedOptions, 'off'],
    [`${requestedOptions} -c jit=on`, 'on'],
  ] as const) {
    const address = new URL(ownAddress);
    address.searchParams.set('options', options);
    const database = openDatabase(address.href, 'test', createLogger('silent', 'test'));
    expect(await database.read({ text: 'show jit', values: [] })).toEqual([[jit]]);
    await database.close();
  }
});

test('a role that may not see the sessions of others counts them, and the limit with the fewest connections left decides', async () => {
  const [admin] = await openSessions(6);
  const url = new URL(ownAddress);
  const name = url.pathname.slice(1);
  await admin!.query(`drop role if exists modest; create role modest login password 'modest' connection limit 9`);
  await admin!.query('grant select on encryption_processes to modest');
  [url.username, url.password] = ['modest', 'modest'];
  const lines: Record<string, unknown>[] = [];
  const log = createLogger('info', 'test', { write: (line) => void lines.push(JSON.parse(line)) });
  const database = openDatabase(url.href, 'modest', log, { poolMax: 8 });
  try {
    const logLimits = async () => {
      await logConnectionLimits(database, log);
      return lines.at(-1)!;
    };
    // First without any connection of its own to the server, then with one.
    for (let run = 0; run < 2; run++)
      expect(await logLimits()).toMatchObject({ level: 'info', allowed: 9, openElsewhere: 0, poolMax: 8 });

    await admin!.query(`alter database ${name} connection limit 12`);
    const countOthers = async () =>
      (
        await admin!.query<{ n: number }>(
          `select count(*)::int n from pg_stat_activity
          where datname = $1 and usename <> 'modest' and backend_type = 'client backend'`,
          [name],
        )
      ).rows[0]!.n;
    await vi.waitUntil(async () => {
      const others = await countOthers();
      return others >= 6 && (await logLimits()).openElsewhere === others;
    });
    expect(lines.at(-1)).toMatchObject({
      level: 'warn',
      allowed: 12,
      msg: expect.stringMatching(
        /^this process may open 8 .* of the 12 that are allowed, other programs have \d+ open: lower POOL_MAX/,
      ),
    });
  } finally {
    await database.close();
    await admin!.query(`alter database ${name} connection limit -1; drop owned by modest; drop role modest`);
  }
});

test('dates are UTC and ISO 8601 and numbers are exact, whatever the connection string sets', async () => {
  const startedAt = new Date().toISOString();
  const taken = '2024-06-01T12:00:00.500Z';
  const { status, body } = await call('POST', '/api/samples', { taken, value: 0.1 + 0.2 });
  expect([status, body.data]).toEqual([201, expect.objectContaining({ taken, value: 0.30000000000000004 })]);
  expect(body.data.createdAt >= startedAt && body.data.createdAt <= new Date().toISOString()).toBe(true);
  expect((await call('GET', `/api/samples?taken=${taken}`)).body.data).toEqual([body.data]);
  expect((await call('PATCH', `/api/samples/${body.data.id}`, { label: 'x' })).status).toBe(200);
});

test('a Postgres that accepts connections but does not respond is not available', async () => {
  const silent = await startTcpProxy(new URL(ownAddress));
  onTestFinished(() => silent.close());
  silent.hang();
  const database = openDatabase(silent.url, 'test', createLogger('silent', 'test'));
  onTestFinished(() => database.close());
  const error: unknown = await database.read({ text: 'select 1', values: [] }).catch((failure: unknown) => failure);
  expect(toPublicDatabaseError(error)?.code).toBe('UNAVAILABLE');
});

test('while Postgres is down every route responds 503 with Retry-After, and recovers by itself afterwards', async () => {
  const { body } = await call('POST', '/api/notes', { text: 'kept' });
  postgres.shut();
  for (const [method, path] of [
    ['GET', `/api/notes/${body.data.id}`],
    ['GET', '/api/notes'],
    ['POST', '/api/notes'],
  ] as const) {
    const response = await call(method, path, method === 'POST' ? { text: 'lost' } : undefined);
    expect(response.status, `${method} ${path}`).toBe(503);
    expect(response.body.error).toMatchObject({
      code: 'UNAVAILABLE',
      message: 'The service is temporarily unavailable',
    });
    expect(response.headers.get('retry-after')).toBe('5');
  }
  expect((await call('GET', '/readyz')).body.checks.postgres).toBe('failed');
  expect((await call('GET', '/healthz')).status).toBe(200);
  postgres.reopen();
  await vi.waitUntil(async () => (await call('GET', `/api/notes/${body.data.id}`)).status === 200, { timeout: 60_000 });
  expect((await call('POST', '/api/notes', { text: 'again' })).status).toBe(201);
});

const holder = new pg.Client(ownAddress);
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
  const proxy = await startTcpProxy(new URL(ownAddress));
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
