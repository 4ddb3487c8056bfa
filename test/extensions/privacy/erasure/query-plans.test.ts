// The cost of an erasure or export of one user is the number of rows that Postgres reads, taken from the plans of the actual statements.
import pg from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f, privacy, softDelete, webhooks } from '../../../../src/index.ts';
import { createPartitions } from '../../../../src/platform/data/postgres/daily-partitions.ts';
import { openDatabase } from '../../../../src/platform/data/postgres/database.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { startTestApp } from '../../../support/app.ts';
import { rowsRead } from '../../../support/database/query-plan.ts';

const OTHERS = 20_000;
const OWN = 30;
const note = defineResource('note', { fields: { title: f.string(), author: f.ref('user').owner() }, softDelete: true });
const card = defineResource('card', {
  fields: { title: f.string().pii(), author: f.ref('user').owner() },
  onOwnerDelete: 'anonymize',
  softDelete: true,
});
const { person, env } = await startTestApp(
  {
    resources: [defineUser(), note, card],
    extensions: [privacy(), softDelete(), webhooks()],
  },
  { roles: 'all' },
);
const client = new pg.Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => client.end());
const ann = await person('Ann');
const owner = `case when n <= ${OWN} then $1 else 'f' || lpad(to_hex(n % 1000), 23, '0') end`;
const id = `lpad(to_hex(n), 24, '0')`;
const series = `from generate_series(1, ${OTHERS}) n`;
for (const table of ['notes_deleted', 'cards_deleted'])
  await client.query(
    `insert into ${table} (id, title, author, created_at, updated_at, deleted_at)
     select ${id}, 'text', ${owner}, now(), now(), now() ${series}`,
    [ann.id],
  );
// None of these rows is of the user.
await client.query(
  `insert into pushes (id, message, audience, status, devices, open_chunks)
   select 'a' || lpad(to_hex(n), 23, '0'), '{}', jsonb_build_object('to', 'f' || n), 'no-devices', 0, 0 ${series}`,
);
await client.query(
  `insert into mails (id, kind, data, recipient, status, finished_at)
   select ${id}, 'told', case when n % 2 = 0 then jsonb_build_object('owner', 'f' || n, 'email', n || '@example.com') end,
     case when n % 2 = 1 then n || '@example.com' end, 'sent', now() ${series}`,
);
const pushId = `'${Math.floor(Date.now() / 1000).toString(16)}' || lpad(to_hex(n), 16, '0')`;
await client.query(
  `insert into pushes (id, message, audience, status, devices, open_chunks) select ${pushId}, '{}', '{}', 'sent', 2, 0 ${series}`,
);
await client.query(
  `insert into push_results (push_id, position, user_id, platform, masked_token)
   select ${pushId}, 0, ${owner}, 'ios', '' ${series} union all select ${pushId}, 1, 'other', 'ios', '' ${series}`,
  [ann.id],
);
await client.query(`insert into webhook_events (id, name, owner_id) select ${id}, 'a', ${owner} ${series}`, [ann.id]);
await client.query(
  `insert into webhook_endpoints (id, owner_id, url, events, scope, secret, removed_at)
   select ${id}, ${owner}, 'https://example.com/', '{*}', 'own', '', case when n % 2 = 0 then now() end ${series}`,
  [ann.id],
);
// Ten days of the delivery log. Of each day, a few deliveries mention the user but are not about them, so that the erasure keeps them.
const database = openDatabase(env.DATABASE_URL!, 'test', createLogger('silent', 'test'));
afterAll(() => database.close());
const DAYS = 10;
// Bodies of usual size, so that Postgres does not prefer to scan a whole partition.
const body = `'"' || rpad('', 1500, md5(n::text)) || '"'`;
const log = { table: 'webhook_delivery_log', column: 'finished_at', keepMs: 14 * 86_400_000 };
await createPartitions(database, log, Date.now() - DAYS * 86_400_000);
await client.query(
  `insert into webhook_delivery_log (id, endpoint_id, event_id, message_id, type, body, status, finished_at, mentions)
   select ${id}, 'f' || lpad(to_hex(n % 1000), 23, '0'), ${id}, 'msg_' || n, 'told', ${body}, 'succeeded', now() - n % ${DAYS} * interval '1 day',
     array['f' || lpad(to_hex(n % 1000), 23, '0'), case when n <= ${1.5 * DAYS * OWN} then $1 else 'other' end] ${series}`,
  [ann.id],
);
const TABLES = [
  'mails',
  'notes_deleted',
  'cards_deleted',
  'pushes',
  'push_results',
  'webhook_events',
  'webhook_endpoints',
  'webhook_delivery_log',
];
for (const table of TABLES) await client.query(`vacuum analyze ${table}`);

const sent = vi.spyOn(pg.Client.prototype, 'query');

/** Returns the statements sent since the last reset that name a watched table, each with the number of rows that it reads. */
async function statements(): Promise<{ text: string; rows: number }[]> {
  const found: { text: string; rows: number }[] = [];
  const calls = sent.mock.calls.map(([one]) => one as unknown as { text?: string; values?: unknown[] });
  for (const { text = '', values } of calls.filter((one) => TABLES.some((table) => one.text?.includes(table)))) {
    if (!values?.flat().includes(ann.id) || !/^\s*(select|with|delete|update)/.test(text)) continue;
    await client.query('begin');
    const { rows } = await client.query(`explain (analyze, format json) ${text}`, values);
    await client.query('rollback');
    found.push({ text, rows: rowsRead(rows[0]['QUERY PLAN'][0].Plan, TABLES) });
  }
  return found;
}

async function finished(table: string): Promise<void> {
  const text = `select 1 from ${table} where user_id = $1 and finished_at is not null`;
  await vi.waitUntil(async () => (await client.query(text, [ann.id])).rows.length > 0, {
    timeout: 60_000,
    interval: 200,
  });
}

test('an erasure reads archived records, pushes, e-mails and events of its user but no rows of other users', async () => {
  sent.mockClear();
  expect((await ann.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' })).status).toBe(202);
  await finished('privacy_erasures');
  const calls = [...sent.mock.calls];
  const left = async (table: string, column: string) =>
    Number((await client.query(`select count(*) from ${table} where ${column} = $1`, [ann.id])).rows[0].count);
  for (const [table, column] of [
    ['notes_deleted', 'author'],
    ['cards_deleted', 'author'],
    ['push_results', 'user_id'],
    ['webhook_events', 'owner_id'],
  ])
    expect(await left(table!, column!)).toBe(0);
  // Explain the same statements on the rows as they were before the erasure.
  await client.query(`update cards_deleted set author = $1 where author is null`, [ann.id]);
  await client.query(`update push_results set user_id = $1 where user_id is null`, [ann.id]);
  sent.mock.calls.splice(0, sent.mock.calls.length, ...calls);
  const all = await statements();
  for (const table of [
    'notes_deleted',
    'cards_deleted',
    'pushes',
    'push_results',
    'mails',
    'webhook_events',
    'webhook_delivery_log',
  ])
    expect(
      all.some(({ text }) => text.includes(table)),
      table,
    ).toBe(true);
  expect(all.filter(({ rows }) => rows > 10 * OWN)).toEqual([]);
}, 120_000);
