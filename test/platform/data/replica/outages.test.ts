// What clients see when a replica fails, is wrong, or cannot run a statement.
import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { providePgBouncer, startPgBouncer } from '../../../../scripts/services/pgbouncer.ts';
import { startPostgresReplica } from '../../../../scripts/services/postgres-replica.ts';
import { createApp, defineResource, defineUser, f } from '../../../../src/index.ts';
import { createClient, startTestApp } from '../../../support/app.ts';
import { startReplicatedPostgres, trustRedis } from '../../../support/database/replicated-postgres.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';

const servers = await startReplicatedPostgres(['max_standby_streaming_delay=0', 'hot_standby_feedback=off']);
const addresses = await servers.createDatabase();
const note = defineResource('note', {
  fields: { text: f.string().required().searchable().filterable() },
  policies: { list: 'public', read: 'public', create: 'public' },
});
const options = { resources: [defineUser(), note], settings: { auth: { password: { logN: 4, r: 8, p: 1 } } } } as const;
const proxy = await startTcpProxy(new URL(addresses.DATABASE_REPLICA_URL));
const { url, call, person, env } = await startTestApp(options, {
  roles: 'all',
  env: () => ({
    ...addresses,
    DATABASE_REPLICA_URL: new URL(new URL(addresses.DATABASE_REPLICA_URL).pathname, proxy.url).href,
    METRICS_TOKEN: 'scrape',
  }),
});

/** Returns a function that reads a series from the metrics of a process. */
const scrapeFrom = (from: string) => async (name: string) => {
  const response = await fetch(`${from}/metrics`, { headers: { authorization: 'Bearer scrape' } });
  const line = (await response.text()).split('\n').find((each) => each.startsWith(`${name} `));
  return Number(line?.split(' ')[1]);
};
const scrape = scrapeFrom(url);

const waitUntilInUse = (value = 1) =>
  vi.waitUntil(async () => (await scrape('belfry_db_replica_in_use')) === value, { timeout: 60_000, interval: 50 });

const ann = await person('Ann');
for (let i = 0; i < 20; i++) await call('POST', '/api/notes', { text: `note ${i}` });

/** Starts another process with this replica. */
const startWith = (address: string, more: Record<string, string> = {}) => {
  const app = createApp(options, { ...env, ...more, DATABASE_REPLICA_URL: address });
  onTestFinished(() => app.close());
  return app.start({ port: 0, roles: ['web'] });
};

/** Sends lists and searches of several clients until it is stopped. Returns the statuses. */
function startLoad(): { statuses: Map<number, number>; stop(): Promise<void> } {
  const statuses = new Map<number, number>();
  let running = true;
  const work = Array.from({ length: 8 }, async (_, i) => {
    const client = i % 2 === 0 ? call : ann.call;
    while (running) {
      const { status } = await client('GET', i % 4 < 2 ? '/api/notes?count=none' : '/api/notes?q=note');
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  return {
    statuses,
    async stop() {
      running = false;
      await Promise.all(work);
    },
  };
}

test('no request fails when the replica dies under load, and it is used again when it is back', async () => {
  await waitUntilInUse();
  const load = startLoad();
  const more = () => {
    const before = load.statuses.get(200) ?? 0;
    return vi.waitUntil(() => (load.statuses.get(200) ?? 0) > before + 50, { timeout: 60_000, interval: 10 });
  };
  await more();
  proxy.shut();
  await waitUntilInUse(0);
  await more();
  proxy.reopen();
  await waitUntilInUse();
  await more();
  await load.stop();
  expect([...load.statuses.keys()]).toEqual([200]);
  expect((await call('GET', '/readyz')).status).toBe(200);
});

test('no request fails when the replica stops responding, and readiness does not depend on it', async () => {
  await waitUntilInUse();
  const load = startLoad();
  await vi.waitUntil(() => (load.statuses.get(200) ?? 0) > 50, { timeout: 60_000, interval: 10 });
  proxy.hang();
  onTestFinished(() => proxy.reopen());
  await waitUntilInUse(0);
  const { status } = await call('GET', '/api/notes');
  expect(status).toBe(200);
  expect((await call('GET', '/readyz')).status).toBe(200);
  await load.stop();
  expect([...load.statuses.keys()]).toEqual([200]);
  proxy.reopen();
  await waitUntilInUse();
});

test('while Redis is down, signed-in users read their lists from the primary and everybody else from the replica', async () => {
  const redis = await startTcpProxy(new URL(env.REDIS_URL!));
  onTestFinished(() => redis.close());
  await trustRedis(env.REDIS_PREFIX!);
  const app = createApp(options, { ...env, REDIS_URL: redis.url, DATABASE_REPLICA_MAX_LAG_MS: '300000' });
  onTestFinished(() => app.close());
  const started = await app.start({ port: 0, roles: ['web'] });
  const own = scrapeFrom(started.url);
  const signedIn = createClient(started.url, ann.token);
  const signedOut = createClient(started.url);
  const waitForReplica = async (client: typeof call) =>
    vi.waitUntil(
      async () => {
        const before = await own('belfry_db_replica_lists_total{target="replica",reason="none"}');
        expect((await client('GET', '/api/notes')).status).toBe(200);
        return (await own('belfry_db_replica_lists_total{target="replica",reason="none"}')) > before;
      },
      { timeout: 60_000, interval: 50 },
    );
  await waitForReplica(signedIn);
  redis.shut();
  const unknown = 'belfry_db_replica_lists_total{target="primary",reason="redis"}';
  const before = await own(unknown);
  expect((await signedIn('GET', '/api/notes')).status).toBe(200);
  expect(await own(unknown)).toBe(before + 1);
  await waitForReplica(signedOut);
  // A write does not need Redis, and this process remembers it.
  expect((await signedIn('POST', '/api/notes', { text: 'without redis' })).status).toBe(201);
  expect((await signedIn('GET', '/api/notes?text=without%20redis')).body.data).toHaveLength(1);
});

const bouncer = providePgBouncer();

test.skipIf(bouncer === undefined)('a replica behind a transaction pooler serves lists', async () => {
  const pooler = await startPgBouncer(bouncer!, addresses.DATABASE_REPLICA_URL, {
    poolMode: 'transaction',
    poolSize: 5,
    preparedStatements: 200,
  });
  onTestFinished(() => pooler.stop());
  for (const setting of ['auto', 'transaction']) {
    const started = await startWith(pooler.url, { DATABASE_REPLICA_POOLER: setting });
    const own = scrapeFrom(started.url);
    await vi.waitUntil(async () => (await own('belfry_db_replica_in_use')) === 1, { timeout: 60_000, interval: 50 });
    for (const path of ['/api/notes', '/api/notes?q=note', '/api/notes?count=capped'])
      expect((await createClient(started.url)('GET', path)).body.data.length, path).toBe(20);
    expect(await own('belfry_db_replica_lists_total{target="replica",reason="none"}')).toBe(3);
    expect(await own('belfry_db_replica_retries_total')).toBe(0);
  }
});

/** Runs statements in a session that ends with the test. */
async function openSession(address: string): Promise<Client> {
  const client = new Client({ connectionString: address });
  await client.connect();
  client.on('error', () => undefined);
  onTestFinished(() => client.end().catch(() => undefined));
  return client;
}

test('a list that Postgres cancels because of a conflict with the recovery runs again on the primary', async () => {
  const primary = await openSession(addresses.DATABASE_URL);
  // On the replica, this app finds a view of notes that takes 0.2 s for each.
  await primary.query('create schema slow');
  await primary.query('create view slow.notes as select * from notes where pg_sleep(0.2) is not null');
  onTestFinished(async () => void (await primary.query('drop schema slow cascade')));
  await servers.waitUntilCaughtUp();
  const started = await startWith(`${addresses.DATABASE_REPLICA_URL}?options=-c%20search_path%3Dslow,public`);
  const own = scrapeFrom(started.url);
  await vi.waitUntil(async () => (await own('belfry_db_replica_in_use')) === 1, { timeout: 60_000, interval: 50 });
  const list = createClient(started.url)('GET', '/api/notes?count=none');
  const isSleeping = `select from pg_stat_activity where wait_event = 'PgSleep'`;
  await vi.waitUntil(async () => (await servers.onReplica(isSleeping)).length > 0, { timeout: 60_000, interval: 20 });
  // The replica replays the lock, which cancels the statements there that use the table.
  await primary.query('begin; lock table notes in access exclusive mode; commit');
  const { status, body } = await list;
  expect([status, body.data.length]).toEqual([200, 20]);
  expect(await own('belfry_db_replica_retries_total')).toBe(1);
});

test('when one connection is lost, only its statement runs again on the primary', async () => {
  const primary = await openSession(addresses.DATABASE_URL);
  // On the replica, this app finds a view of notes that waits for a lock.
  await primary.query('create schema locked');
  await primary.query('create view locked.notes as select * from notes where pg_advisory_lock_shared(7) is not null');
  onTestFinished(async () => void (await primary.query('drop schema locked cascade')));
  await servers.waitUntilCaughtUp();
  const started = await startWith(`${addresses.DATABASE_REPLICA_URL}?options=-c%20search_path%3Dlocked,public`);
  const own = scrapeFrom(started.url);
  await vi.waitUntil(async () => (await own('belfry_db_replica_in_use')) === 1, { timeout: 60_000, interval: 50 });
  const replica = await openSession(addresses.DATABASE_REPLICA_URL);
  await replica.query('select pg_advisory_lock(7)');
  const search = () => createClient(started.url)('GET', '/api/notes?q=note&count=none');
  const lists = [search(), search()];
  const findWaiting = async () =>
    (await replica.query<{ pid: number }>(`select pid from pg_stat_activity where wait_event = 'advisory'`)).rows;
  await vi.waitUntil(async () => (await findWaiting()).length === 2, { timeout: 60_000, interval: 20 });
  await replica.query('select pg_terminate_backend($1)', [(await findWaiting())[0]!.pid]);
  expect((await Promise.race(lists)).status).toBe(200);
  await replica.query('select pg_advisory_unlock(7)');
  expect((await Promise.all(lists)).map(({ status }) => status)).toEqual([200, 200]);
  expect(await own('belfry_db_replica_retries_total')).toBe(1);
  expect(await own('belfry_db_replica_in_use')).toBe(1);
});

test('a process that serves no lists exports no metrics of the replica', async () => {
  const app = createApp(options, { ...env, METRICS_PORT: '0' });
  onTestFinished(() => app.close());
  const { metricsUrl } = await app.start({ roles: ['relay'] });
  const response = await fetch(metricsUrl, { headers: { authorization: 'Bearer scrape' } });
  const text = await response.text();
  expect(text).toContain('belfry_outbox_rows');
  expect(text).not.toContain('belfry_db_replica');
});

test('a list that needs a column that the replica lacks runs on the primary', async () => {
  const behind = await servers.createDatabase();
  const earlier = { ...options, resources: [defineUser()] } as const;
  const later = { ...options, resources: [defineUser(), note] } as const;
  const settings = {
    ...env,
    ...behind,
    DATABASE_REPLICA_MAX_LAG_MS: '300000',
    REDIS_PREFIX: `${env.REDIS_PREFIX}-later`,
  };
  const migrated = createApp(earlier, settings);
  await migrated.migrate({ mode: 'sync' });
  await migrated.close();
  await servers.waitUntilCaughtUp();
  const app = createApp(later, settings);
  onTestFinished(() => app.close());
  const { url: laterUrl } = await app.start({ port: 0, roles: ['web'] }).catch(async () => {
    // The start refuses a database without the table.
    await servers.pause();
    await app.migrate({ mode: 'sync' });
    return app.start({ port: 0, roles: ['web'] });
  });
  await createClient(laterUrl)('POST', '/api/notes', { text: 'new' });
  const { status, body } = await createClient(laterUrl)('GET', '/api/notes');
  expect([status, body.data.length]).toEqual([200, 1]);
  await servers.resume();
});

test('a replica that cannot be reached does not keep a process from starting', async () => {
  const started = await startWith('postgres://postgres@127.0.0.1:1/app');
  expect((await createClient(started.url)('GET', '/api/notes')).status).toBe(200);
});

test('a start with the replica of another server or another database is refused', async () => {
  const other = new URL(process.env.TEST_DATABASE_URL!);
  other.pathname = '/postgres';
  const database = await servers.createDatabase();
  for (const address of [other.href, database.DATABASE_REPLICA_URL])
    await expect(startWith(address)).rejects.toMatchObject({
      errors: [expect.stringMatching(/^DATABASE_REPLICA_URL leads to another database: \S+ is not a replica/)],
    });
});

test('a server that is no replica, such as the primary itself, is not used', async () => {
  const started = await startWith(addresses.DATABASE_URL);
  const response = await fetch(`${started.url}/metrics`, { headers: { authorization: 'Bearer scrape' } });
  expect(await response.text()).toContain('\nbelfry_db_replica_in_use 0\n');
  expect((await createClient(started.url)('GET', '/api/notes')).status).toBe(200);
});

test('a replica that is promoted, or follows the old primary after a failover, is no longer used, and no request fails', async () => {
  const second = await startPostgresReplica(new URL('/postgres', addresses.DATABASE_URL).href);
  onTestFinished(() => second.stop());
  const address = new URL(new URL(addresses.DATABASE_URL).pathname, second.url).href;
  const started = await startWith(address);
  const client = createClient(started.url);
  const inUse = async () => {
    const response = await fetch(`${started.url}/metrics`, { headers: { authorization: 'Bearer scrape' } });
    return (await response.text()).includes('\nbelfry_db_replica_in_use 1\n');
  };
  await vi.waitUntil(inUse, { timeout: 60_000, interval: 50 });
  const promoting = await openSession(second.url);
  await promoting.query('select pg_promote()');
  await vi.waitUntil(
    async () => {
      expect((await client('GET', '/api/notes')).status).toBe(200);
      return !(await inUse());
    },
    { timeout: 60_000, interval: 20 },
  );
  await client('POST', '/api/notes', { text: 'after the promotion' });
  const { body } = await client('GET', '/api/notes?q=promotion');
  expect(body.data).toHaveLength(1);

  // The app now writes to the promoted server, and the first replica still follows the old primary.
  const app = createApp(options, { ...env, DATABASE_URL: address });
  onTestFinished(() => app.close());
  const moved = await app.start({ port: 0, roles: ['web'] });
  await createClient(moved.url)('POST', '/api/notes', { text: 'after the failover' });
  expect((await createClient(moved.url)('GET', '/api/notes?q=failover')).body.data).toHaveLength(1);
  const own = scrapeFrom(moved.url);
  expect(await own('belfry_db_replica_lists_total{target="primary",reason="unavailable"}')).toBe(1);
});
