// What an erasure and an export find while deliveries move between the table of waiting deliveries and the log.
import { Client } from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { Host, ResourceGateway } from '../../../../src/declare/host.ts';
import { webhookSettings } from '../../../../src/extensions/webhooks/settings/settings.ts';
import { createWebhookUserData } from '../../../../src/extensions/webhooks/user-data/user-data.ts';
import { defineResource, defineUser, f, privacy, webhooks } from '../../../../src/index.ts';
import { createPartitions } from '../../../../src/platform/data/postgres/daily-partitions.ts';
import { type Database, openDatabase } from '../../../../src/platform/data/postgres/database.ts';
import { newId } from '../../../../src/platform/helpers/ids.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { startTestApp } from '../../../support/app.ts';
import { rowsRead } from '../../../support/database/query-plan.ts';
import { ALL_DELIVERIES, finishDeliveries, reopenDeliveries } from '../../../support/webhooks/deliveries.ts';

const user = defineUser();
const letter = defineResource('letter', {
  renamedFrom: 'note',
  onOwnerDelete: 'anonymize',
  fields: {
    title: f.string(),
    mobile: f.string().pii().renamedFrom('phone'),
    writer: f.ref('user').owner(),
  },
});
const KEEP_DAYS = 3;
const { env } = await startTestApp({
  resources: [user, letter],
  extensions: [webhooks({ keepDeliveriesDays: KEEP_DAYS }), privacy()],
});
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const database = openDatabase(env.DATABASE_URL!, 'test', createLogger('silent', 'test'));
afterAll(async () => {
  await database.close();
  await client.end();
});

let userId: string;
let endpoint: string;
beforeEach(async () => {
  for (const table of ['webhook_deliveries', 'webhook_delivery_log']) await client.query(`delete from ${table}`);
  [userId, endpoint] = [newId(), newId()];
});

/** Returns the data of users' webhooks. @param beforeWrite runs before each statement that may write, with its text and values */
function userData(beforeWrite: (text: string, values: readonly unknown[]) => Promise<unknown>) {
  const over: Database = Object.assign(Object.create(database), {
    write: async (statement: Parameters<Database['write']>[0]) => {
      await beforeWrite(statement.text, statement.values);
      return database.write(statement);
    },
  });
  const [users, letters] = [
    { name: 'user', table: 'users', declaration: user },
    { name: 'letter', table: 'letters', declaration: letter },
  ] as unknown as [ResourceGateway, ResourceGateway];
  const host = { database: over, resources: [users, letters], keyring: undefined } as unknown as Host;
  const settings = webhookSettings.parse({ keepDeliveriesDays: KEEP_DAYS });
  const all = createWebhookUserData(host, users, settings, { readableBodies: async () => new Map() });
  return all.find(({ name }) => name === 'webhookDeliveries')!;
}

/** Adds finished deliveries of events that the app published for the user. Returns their ids. */
async function addFinished(finishedAt: readonly string[]): Promise<string[]> {
  const ids = finishedAt.map(() => newId());
  await client.query(
    `insert into webhook_delivery_log (id, endpoint_id, event_id, message_id, type, body, status, finished_at, mentions)
     select id, $1, id, 'msg_' || id, 'told', '{}', 'succeeded', at::timestamptz, array[$2]
     from unnest($3::text[], $4::text[]) d(id, at)`,
    [endpoint, userId, ids, finishedAt],
  );
  await client.query(`insert into webhook_events (id, name, owner_id) select unnest($1::text[]), 'told', $2`, [
    ids,
    userId,
  ]);
  return ids;
}
const ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
const left = async () => (await client.query(`select id from ${ALL_DELIVERIES} d`)).rows;

// Statements of an erasure, by what they do.
const READS_WAITING = /from webhook_deliveries where id >/;
const SEARCHES_LOG = /from webhook_delivery_log\s.*mentions @>/s;
const DELETES = /^\s*delete from webhook_deliver/;

test('an erasure deletes a delivery that is retried before the log is searched and finishes before the waiting ones are read again', async () => {
  const [id] = await addFinished([ago(0)]);
  const moves = [
    [SEARCHES_LOG, () => reopenDeliveries(client, 'id = $1', [id])],
    [READS_WAITING, () => finishDeliveries(client, 'succeeded', 'id = $1', [id])],
  ] as const;
  let made = 0;
  const { erase } = userData(async (text) => {
    const [before, move] = moves[made] ?? [];
    if (!before?.test(text)) return;
    made += 1;
    await move!();
  });
  expect(await erase(userId)).toBe(1);
  expect(made).toBe(2);
  expect(await left()).toEqual([]);
});

test('an erasure deletes a delivery that is retried while its body is checked and finishes while it is deleted', async () => {
  let [reads, deletions] = [0, 0];
  let id: string | undefined;
  const { erase } = userData(async (text) => {
    if (READS_WAITING.test(text)) reads += 1;
    // The delivery is added for the last pass, so that no later pass finds it.
    if (reads === 2 && id === undefined && SEARCHES_LOG.test(text)) [id] = await addFinished([ago(0)]);
    if (id === undefined || !DELETES.test(text)) return;
    deletions += 1;
    // The first deletion is from the waiting ones, the second from the log.
    if (deletions === 2) await reopenDeliveries(client, 'id = $1', [id]);
    if (deletions === 3) await finishDeliveries(client, 'succeeded', 'id = $1', [id]);
  });
  expect(await erase(userId)).toBe(1);
  expect(deletions).toBe(4);
  expect(await left()).toEqual([]);
});

test('an erasure searches the log one day at a time, and finds deliveries of any time', async () => {
  const hours = Array.from({ length: 24 * (KEEP_DAYS + 2) }, (_, i) => ago(KEEP_DAYS + 1 - i / 24));
  const ids = await addFinished(['1970-01-01T00:00:00.000Z', ...hours, ago(-2), ago(-30)]);
  const ranges: [start: string, end: string][] = [];
  const { erase } = userData(async (text, values) => {
    if (SEARCHES_LOG.test(text)) ranges.push(values.slice(1, 3) as [string, string]);
  });
  expect(await erase(userId)).toBe(ids.length);
  expect(await left()).toEqual([]);
  const bounded = ranges.filter(([start, end]) => start !== '-infinity' && end !== 'infinity');
  expect(bounded.map(([start, end]) => Date.parse(end) - Date.parse(start))).toEqual(bounded.map(() => 86_400_000));
  // Twice, because deliveries may move back to the log meanwhile.
  expect(ranges).toHaveLength(2 * (KEEP_DAYS + 4));
});

test('an export leaves out deliveries that the delivery log no longer lists', async () => {
  await client.query(
    `insert into webhook_endpoints (id, owner_id, url, events, scope, secret) values ($1, $2, 'https://example.com/', '{*}', 'own', '')`,
    [endpoint, userId],
  );
  const [, kept] = await addFinished([ago(KEEP_DAYS + 0.1), ago(KEEP_DAYS - 0.1)]);
  const rows = await Array.fromAsync(userData(async () => undefined).rows(userId));
  expect(rows.map(({ id }) => id)).toEqual([kept]);
});

test('an erasure deletes a delivery with a personal value, also under a former name or a name that is no longer declared', async () => {
  const bodies: [type: string, data: object][] = [
    ['letter.created', { id: newId(), mobile: '+49 30 1' }],
    ['note.created', { id: newId(), phone: '+49 30 1' }],
    ['letter.updated', { id: newId(), nickname: 'Ada' }],
    ['letter.updated', { id: newId(), title: 'of nobody' }],
  ];
  for (const [type, data] of bodies)
    await client.query(
      `insert into webhook_delivery_log (id, endpoint_id, event_id, message_id, type, body, status, finished_at, subject_id, mentions)
       values ($1, $2, $1, 'msg_' || $1, $3, $4, 'succeeded', now(), $5, array[$5])`,
      [newId(), endpoint, type, JSON.stringify({ type, data }), userId],
    );
  expect(await userData(async () => undefined).erase(userId)).toBe(3);
  const { rows } = await client.query(`select body::json -> 'data' ->> 'title' as title from ${ALL_DELIVERIES} d`);
  expect(rows).toEqual([{ title: 'of nobody' }]);
});

const OTHERS = 20_000;
const TABLES = ['webhook_deliveries', 'webhook_delivery_log', 'letters'];
// Ids of deliveries, records and users of others. Bodies of usual size, so that reading all of them costs more than searching an index.
const INSERT_OTHERS = `
  insert into webhook_delivery_log (id, endpoint_id, event_id, message_id, type, body, status, finished_at, mentions)
  select '1' || lpad(to_hex(n), 23, '0'), $1, '2' || lpad(to_hex(n), 23, '0'), 'msg_' || n, 'letter.created',
    '{"type":"letter.created","data":{"id":"' || '3' || lpad(to_hex(n), 23, '0') || '","title":"' || rpad('', 1000, md5(n::text)) || '"}}',
    'succeeded', now() - n % 2 * interval '1 day', array['3' || lpad(to_hex(n), 23, '0'), '4' || lpad(to_hex(n % 1000), 23, '0')]
  from generate_series(1, ${OTHERS}) n`;

/** Deletes the user's deliveries as an erasure does. Returns the statements that read or delete deliveries, each with the rows and blocks that it reads. */
async function explainErasure(): Promise<{ text: string; rows: number; blocks: number }[]> {
  const statements: { text: string; rows: number; blocks: number }[] = [];
  const { erase } = userData(async (text, values) => {
    if (!/webhook_deliver/.test(text)) return;
    await client.query('begin');
    const { rows } = await client.query(`explain (analyze, buffers, format json) ${text}`, [...values]);
    await client.query('rollback');
    const { Plan: plan } = rows[0]['QUERY PLAN'][0];
    const blocks = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    statements.push({ text, rows: rowsRead(plan, TABLES), blocks });
  });
  await erase(userId);
  return statements;
}

test('without statistics, as in a new partition, an erasure reads no finished deliveries of others', async () => {
  const ABOUT = 400;
  await createPartitions(
    database,
    { table: 'webhook_delivery_log', column: 'finished_at', keepMs: 1e9 },
    Date.now() - 86_400_000,
  );
  const { rows: partitions } = await client.query(
    `select relid::regclass as name from pg_partition_tree('webhook_delivery_log') where isleaf`,
  );
  for (const { name } of partitions) await client.query(`alter table ${name} set (autovacuum_enabled = false)`);
  await client.query(INSERT_OTHERS, [endpoint]);
  const ids = await addFinished(Array.from({ length: ABOUT }, (_, i) => ago(i % 2)));
  const statements = await explainErasure();
  // The bodies are checked, and the deliveries deleted, 200 at a time.
  expect(statements.filter(({ rows }) => rows > 4 * 200)).toEqual([]);
  expect(statements.some(({ text }) => DELETES.test(text))).toBe(true);
  expect((await left()).length).toBe(OTHERS);
  expect((await left()).filter(({ id }) => ids.includes(id))).toEqual([]);
}, 120_000);

test('an erasure joins a page of waiting deliveries with the records of the user, instead of a search for each mention', async () => {
  const WAITING = 5000;
  await client.query(
    `insert into letters (id, title, writer, created_at, updated_at)
     select '3' || lpad(to_hex(n), 23, '0'), 'text', case when n <= 3 then $1 else '4' || lpad(to_hex(n % 1000), 23, '0') end, now(), now()
     from generate_series(1, ${OTHERS}) n`,
    [userId],
  );
  await client.query(
    `insert into webhook_deliveries (id, endpoint_id, event_id, message_id, type, body, subject_id, mentions)
     select '1' || lpad(to_hex(n), 23, '0'), $1, '2' || lpad(to_hex(n), 23, '0'), 'msg_' || n, 'letter.created',
       '{"type":"letter.created","data":{"id":"' || '3' || lpad(to_hex(n), 23, '0') || '","mobile":"+49 30 1"}}',
       null, array['3' || lpad(to_hex(n), 23, '0'), '4' || lpad(to_hex(n % 1000), 23, '0')] from generate_series(1, ${WAITING}) n`,
    [endpoint],
  );
  for (const table of ['letters', 'webhook_deliveries']) await client.query(`analyze ${table}`);
  const statements = await explainErasure();
  const pages = statements.filter(({ text }) => READS_WAITING.test(text));
  expect(pages).not.toEqual([]);
  expect(pages.filter(({ blocks }) => blocks > WAITING / 2)).toEqual([]);
  expect(await left()).toHaveLength(WAITING - 3);
  await client.query('delete from letters');
}, 120_000);
