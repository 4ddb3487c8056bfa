// The sweeps of deliveries and endpoints: what they move, delete and send again. Only the web role runs, and the tests run them.
import { Client } from 'pg';
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { ResourceGateway } from '../../../../../src/declare/host.ts';
import { DELIVERY_TABLES } from '../../../../../src/extensions/webhooks/deliveries/deliveries-sql.ts';
import { createPendingEndpoints } from '../../../../../src/extensions/webhooks/engine/recovery/pending-endpoints.ts';
import { createReclaimSweeps } from '../../../../../src/extensions/webhooks/engine/recovery/reclaim.ts';
import { createRetentionSweeps } from '../../../../../src/extensions/webhooks/engine/recovery/retention.ts';
import { fillProductionDefaults, webhookSettings } from '../../../../../src/extensions/webhooks/settings/settings.ts';
import { defineUser, webhooks } from '../../../../../src/index.ts';
import { type Database, openDatabase } from '../../../../../src/platform/data/postgres/database.ts';
import { createLogger } from '../../../../../src/platform/observability/log.ts';
import type { NewJob, Queues } from '../../../../../src/platform/work/queues/queues.ts';
import { type Person, startTestApp } from '../../../../support/app.ts';
import { rowsRead } from '../../../../support/database/query-plan.ts';

const user = defineUser();
const KEEP_DAYS = 3;
const { person, env } = await startTestApp({
  resources: [user],
  extensions: [webhooks({ keepDeliveriesDays: KEEP_DAYS })],
});
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const log = createLogger('silent', 'test');
const database = openDatabase(env.DATABASE_URL!, 'test', log);
afterAll(async () => {
  await database.close();
  await client.end();
});

let ann: Person;
let endpoint: string;
beforeEach(async () => {
  await client.query('delete from webhook_deliveries');
  await client.query('delete from webhook_delivery_log');
  ann = await person('Ann');
  const { body } = await ann.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['user.updated'] });
  endpoint = body.data.id;
});

const owners = { users: { table: 'users', declaration: user } as unknown as ResourceGateway, organisations: undefined };
const settings = fillProductionDefaults(webhookSettings.parse({ keepDeliveriesDays: KEEP_DAYS }), false);

/** Runs a sweep of retention once, as a relay does. */
async function runSweep(name: string, over: Database = database): Promise<number> {
  const sweeps = createRetentionSweeps({ database: over, log }, owners, settings, { async *readAll() {} });
  return Number(await sweeps.find((sweep) => sweep.name === `webhooks: ${name}`)!.run());
}
/** Earlier versions kept finished deliveries in webhook_deliveries. */
const moveEarlier = (over?: Database) => runSweep('deliveries of earlier versions', over);

let batches = 0;
/** Adds finished deliveries as an earlier version stored them, one second apart. */
async function addFinished(status: 'succeeded' | 'failed', count: number, daysAgo: number): Promise<void> {
  batches += 1;
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, status, attempts, schedule_attempts,
       status_code, duration_ms, error, response, attempt_log, created_at, finished_at, next_attempt_at)
     select to_hex(extract(epoch from at)::bigint) || lpad(to_hex($1::int * 100000 + n), 16, '0'), $2,
       to_hex(extract(epoch from at)::bigint) || lpad(to_hex($1::int * 100000 + n), 16, 'e'), 'msg_' || $1::int || '_' || n, 'user.updated',
       '{"n":' || n || '}', $3::text, 2, 2, case $3::text when 'failed' then 500 else 204 end, n, case $3::text when 'failed' then 'status 500' end, 'response ' || n,
       jsonb_build_array(jsonb_build_object('at', at, 'statusCode', 503, 'durationMs', n, 'error', 'status 503')), at, at + interval '2 seconds', null
     from (select n, date_trunc('seconds', now()) - $5 * interval '1 day' - n * interval '1 second' as at from generate_series(1, $4::int) n) t`,
    [batches, endpoint, status, count, daysAgo],
  );
}

const listLog = async (query = '') =>
  (await ann.call('GET', `/api/webhooks/${endpoint}/deliveries?limit=100${query}`)).body.data;
/** Drops the partitions of days, which other tests have created. */
async function dropPartitions(): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'webhook_delivery_log'::regclass`,
  );
  for (const { name } of rows) if (name !== 'webhook_delivery_log_default') await client.query(`drop table ${name}`);
}

const countRows = async (table: string) => (await client.query(`select from ${table}`)).rowCount;

test('finished deliveries of an earlier version move to the log and keep their log entries', async () => {
  await addFinished('succeeded', 30, 0);
  await addFinished('failed', 20, 0.5);
  await addFinished('succeeded', 10, 2);
  const [all, failed] = [await listLog(), await listLog('&status=failed')];
  expect([all.length, failed.length]).toEqual([60, 20]);
  expect(all[0]).toMatchObject({
    status: 'succeeded',
    attempts: 2,
    attemptLog: [{ statusCode: 503 }],
  });
  const { rows: before } = await client.query('select * from webhook_deliveries order by id');

  expect(await moveEarlier()).toBe(60);
  expect(await countRows('webhook_deliveries')).toBe(0);
  expect(await listLog()).toEqual(all);
  expect(await listLog('&status=failed')).toEqual(failed);
  const { rows: after } = await client.query('select * from webhook_delivery_log order by id');
  expect(after).toEqual(
    before.map(({ next_attempt_at: _next, lease_until: _lease, poll_number: _number, ...columns }) => columns),
  );
  // Each is in the partition of its day, so that it can be dropped with it.
  expect(await countRows('webhook_delivery_log_default')).toBe(0);
  expect(await moveEarlier()).toBe(0);
});

test('deliveries that wait or are being sent stay', async () => {
  await addFinished('succeeded', 1, 0);
  await addFinished('failed', 3, 0);
  const reopen = `finished_at = null where id = (select min(id) from webhook_deliveries where status = 'failed')`;
  await client.query(
    `update webhook_deliveries set status = 'pending', next_attempt_at = now() + interval '1 hour', ${reopen}`,
  );
  await client.query(
    `update webhook_deliveries set status = 'sending', lease_until = now() + interval '1 hour', ${reopen}`,
  );
  expect(await moveEarlier()).toBe(2);
  const { rows } = await client.query('select status from webhook_deliveries order by status');
  expect(rows).toEqual([{ status: 'pending' }, { status: 'sending' }]);
});

test('failed deliveries move first, so that a recovery finds them', async () => {
  await addFinished('succeeded', 1500, 0.5);
  await addFinished('failed', 1500, 0.1);
  await addFinished('succeeded', 10, 1);
  expect(await moveEarlier()).toBe(3010);
  const { rows } = await client.query(`
    select max(xmin::text::bigint) filter (where status = 'failed') <= min(xmin::text::bigint) filter (where status = 'succeeded') as first,
      count(distinct xmin::text)::int as transactions
    from webhook_delivery_log`);
  expect(rows).toEqual([{ first: true, transactions: 4 }]);
  const since = new Date(Date.now() - 86_400_000).toISOString();
  const { body } = await ann.call('POST', `/api/webhooks/${endpoint}/recover`, { since });
  expect(body.data).toMatchObject({ total: 1500, resent: 500 });
});

test('while another session holds the log and partitions are missing, none moves; later each moves to the partition of its day', async () => {
  await dropPartitions();
  await addFinished('failed', 3, 0);
  await addFinished('succeeded', 3, 1);
  const holder = new Client({ connectionString: env.DATABASE_URL });
  await holder.connect();
  await holder.query('begin; select from webhook_delivery_log');
  expect(await moveEarlier().finally(() => holder.end())).toBe(0);
  expect(await countRows('webhook_deliveries')).toBe(6);
  expect(await countRows('webhook_delivery_log')).toBe(0);
  // Postgres releases the locks of a session shortly after its client has ended.
  await expect.poll(() => moveEarlier()).toBe(6);
  expect(await countRows('webhook_delivery_log_default')).toBe(0);
});

test('deliveries older than the retention period disappear, and younger ones stay', async () => {
  await addFinished('succeeded', 5, 40);
  await addFinished('failed', 5, KEEP_DAYS + 2);
  await addFinished('failed', 3, KEEP_DAYS - 0.5);
  await addFinished('succeeded', 2, 0);
  expect(await moveEarlier()).toBe(15);
  expect(await listLog()).toHaveLength(5);
  await runSweep('delivery log');
  expect(await countRows('webhook_delivery_log')).toBe(5);
  expect(await listLog()).toHaveLength(5);
});

test('several relays that move them at once move each once', async () => {
  await addFinished('succeeded', 1200, 1);
  await addFinished('failed', 1200, 1);
  const moved = await Promise.all(Array.from({ length: 5 }, () => moveEarlier()));
  expect(moved.reduce((sum, count) => sum + count, 0) + (await moveEarlier())).toBe(2400);
  expect([await countRows('webhook_deliveries'), await countRows('webhook_delivery_log')]).toEqual([0, 2400]);
});

test('a database role that may not create tables moves them as well', async () => {
  await client.query(`
    create role delivery_writer login password 'delivery_writer';
    grant select, insert, update, delete on all tables in schema public to delivery_writer`);
  const url = new URL(env.DATABASE_URL!);
  [url.username, url.password] = ['delivery_writer', 'delivery_writer'];
  const restricted = openDatabase(url.href, 'test', log);
  onTestFinished(async () => {
    await restricted.close();
    await client.query('drop owned by delivery_writer; drop role delivery_writer');
  });
  await dropPartitions();
  await addFinished('failed', 3, KEEP_DAYS - 1.5);
  expect(await moveEarlier(restricted)).toBe(3);
  expect(await countRows('webhook_delivery_log_default')).toBe(3);
  expect(await listLog()).toHaveLength(3);
});

// The row of a removed endpoint is deleted once its log is empty.
test('removed endpoints are deleted after their deliveries, and no statement reads the deliveries of others', async () => {
  const [ENDPOINTS, DELIVERIES] = [1500, 20_000];
  await client.query('delete from webhook_endpoints');
  await client.query(
    `insert into webhook_endpoints (id, owner_id, url, events, scope, secret, removed_at)
     select 'e' || n, 'owner', '', '{*}', 'own', '', now() - interval '2 hours' from generate_series(1, ${ENDPOINTS}) n`,
  );
  await client.query(
    `insert into webhook_delivery_log (id, endpoint_id, event_id, message_id, type, body, finished_at)
     select n, case n when 1 then 'e1' else 'other' end, n, n, 't', '{}', now() from generate_series(1, ${DELIVERIES}) n`,
  );
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body)
     select n, case n when 2 then 'e2' else 'other' end, n, n, 't', '{}' from generate_series(1, ${DELIVERIES}) n`,
  );
  await client.query('vacuum analyze webhook_endpoints, webhook_delivery_log, webhook_deliveries');

  const counts: number[] = [];
  const write = (async (statement: { text: string; values: unknown[] }) => {
    if (!statement.text.includes('webhook_endpoints')) return database.write(statement);
    await client.query('begin');
    const { rows } = await client.query(`explain (analyze, format json) ${statement.text}`, statement.values);
    await client.query('rollback');
    counts.push(rowsRead(rows[0]['QUERY PLAN'][0].Plan, DELIVERY_TABLES));
    return database.write(statement);
  }) as Database['write'];
  const run = (name: string) => runSweep(name, { ...database, write });
  const leftEndpoints = async () => (await client.query('select id from webhook_endpoints order by id')).rows;

  await run('copies of deleted records, removed endpoints');
  expect(await leftEndpoints()).toEqual([{ id: 'e1' }, { id: 'e2' }]);
  expect(await run('logs of removed endpoints')).toBe(2);
  await run('copies of deleted records, removed endpoints');
  expect(await leftEndpoints()).toEqual([]);
  expect(counts.length).toBeGreaterThan(4);
  for (const read of counts) expect(read).toBeLessThan(10);
});

test('one run finds all overdue deliveries page by page, each in its lane, and nothing else', async () => {
  // A little more than three pages. Every 10th endpoint is disabled, every 7th has nothing overdue, every 3rd is slow.
  await database.write({
    text: `
    with made as (
      insert into webhook_endpoints (id, owner_id, url, events, scope, secret, enabled, slow)
      select lpad(to_hex(i), 24, '0'), $1, 'http://127.0.0.1:9/', '{*}', 'own', 'x', i % 10 <> 0, i % 3 = 0
      from generate_series(1, 1600) i returning id
    )
    insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, next_attempt_at)
    select lpad(to_hex(i), 23, '0') || n, lpad(to_hex(i), 24, '0'), i || '-' || n, 'msg', 'user.created', '{}',
      now() + case when i % 7 = 0 then interval '1 minute' else interval '-1 minute' end
    from generate_series(1, 1600) i, generate_series(1, 2) n`,
    values: [ann.id],
  });
  const added: Record<string, string[]> = {};
  const queues = {
    add: async (queue: string, jobs: NewJob[]) => {
      added[queue] = [...(added[queue] ?? []), ...jobs.map(({ data }) => data.id)];
    },
  } as Queues;
  const pending = createPendingEndpoints({ database }, owners, settings);
  const sweeps = createReclaimSweeps({ database, queues }, settings, pending, async () => undefined);
  await sweeps.find(({ name }) => name === 'webhooks: overdue deliveries')!.run();

  const numbers = Array.from({ length: 1600 }, (_, i) => i + 1).filter((i) => i % 10 !== 0 && i % 7 !== 0);
  const idOf = (i: number) => i.toString(16).padStart(24, '0');
  expect(added.webhooks!.sort()).toEqual(
    numbers
      .filter((i) => i % 3 !== 0)
      .map(idOf)
      .sort(),
  );
  expect(added['webhooks-slow']!.sort()).toEqual(
    numbers
      .filter((i) => i % 3 === 0)
      .map(idOf)
      .sort(),
  );
});
