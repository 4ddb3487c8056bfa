import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineUser } from '../../../src/index.ts';
import { leastIdAt } from '../../../src/platform/ids.ts';
import { createPartitions } from '../../../src/platform/postgres/daily-partitions.ts';
import { createPushSweeps } from '../../../src/push/delivery/sweeps.ts';
import { createPushUserData } from '../../../src/push/history/user-data.ts';
import { startTestApp } from '../../support/app.ts';
import { openPlatform } from '../platform.ts';

const DAY_MS = 86_400_000;
const TABLES = [
  ['pushes', 'id'],
  ['push_chunks', 'push_id'],
  ['push_results', 'push_id'],
] as const;

const { app, env, person } = await startTestApp(
  {
    resources: [defineUser()],
    transports: [{ name: 'phone', send: async (_message, devices) => devices.map(() => ({ ok: true })) }],
  },
  { start: { roles: ['web', 'push-worker'] } },
);
const platform = await openPlatform(env);
const sql = new Client({ connectionString: env.DATABASE_URL });
await sql.connect();
afterAll(async () => {
  await platform.close();
  await sql.end();
});

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10).replaceAll('-', '');
const sweeps = createPushSweeps(platform, new Set(['phone'])).filter(({ name }) => name.includes('retention'));
async function runRetention(): Promise<number> {
  let rows = 0;
  for (const sweep of sweeps) rows += (await sweep.run()) ?? 0;
  return rows;
}

/** Returns the partitions that hold the rows of a push, one for each table. */
async function partitionsOf(id: string): Promise<string[]> {
  const found: string[] = [];
  for (const [table, column] of TABLES) {
    const text = `select distinct tableoid::regclass::text as name from ${table} where ${column} = $1`;
    found.push(...(await sql.query(text, [id])).rows.map(({ name }) => name));
  }
  return found;
}

let count = 0;

/** Inserts a push to one device as it would have been stored `daysAgo` days ago. */
async function insertOldPush(daysAgo: number, user: string | null = null, device: string | null = null) {
  const id = leastIdAt(Date.now() - daysAgo * DAY_MS).slice(0, 8) + String(++count).padStart(16, '0');
  await sql.query(
    `insert into pushes (id, message, audience, status, devices, open_chunks) values ($1, '{"title":"Old"}', '{}', 'sent', 1, 0)`,
    [id],
  );
  await sql.query(
    `insert into push_chunks (push_id, chunk, first_position, last_position, finished_at) values ($1, 0, 0, 0, now())`,
    [id],
  );
  await sql.query(
    `insert into push_results (push_id, position, platform, masked_token, user_id, device_id, ok, answered_at)
     values ($1, 0, 'ios', '…', $2, $3, true, now())`,
    [id, user, device],
  );
  return id;
}

/** Creates the partitions of all days since `daysAgo` days ago that have no rows yet. */
async function createPartitionsSince(daysAgo: number): Promise<void> {
  for (const [table, column] of TABLES) {
    const partitions = { table, column, key: 'id', keepMs: 0 } as const;
    await createPartitions(platform.database, partitions, Date.now() - daysAgo * DAY_MS);
  }
}

test('partitions are created ahead, and pushes that are sent meanwhile are all stored and sent', async () => {
  const sending = Array.from({ length: 100 }, (_, i) => app.push.send({ tokens: [`token-${i}`], title: 'Hi' }));
  const created = runRetention();
  const pushes = await Promise.all(sending);
  await created;
  expect(new Set(pushes.map(({ status }) => status))).toEqual(new Set(['sent']));
  for (const [table] of TABLES) {
    for (const days of [1, 2, 3]) {
      const name = `${table}_${dayOf(Date.now() + days * DAY_MS)}`;
      expect((await sql.query('select to_regclass($1) is not null as is', [name])).rows).toEqual([{ is: true }]);
    }
  }
});

test('a day whose pushes are in the default partition gets no partition, so that no request waits while rows move', async () => {
  const push = await insertOldPush(9);
  await createPartitionsSince(10);
  expect(await partitionsOf(push)).toEqual(TABLES.map(([table]) => `${table}_default`));
  expect(await partitionsOf(await insertOldPush(9))).toEqual(TABLES.map(([table]) => `${table}_default`));
  const later = await insertOldPush(8);
  expect(await partitionsOf(later)).toEqual(TABLES.map(([table]) => `${table}_${dayOf(Date.now() - 8 * DAY_MS)}`));
});

test('the partition of a day is dropped 30 days after its end, and newer pushes stay', async () => {
  await createPartitionsSince(33);
  const [old, young] = [await insertOldPush(32), await insertOldPush(29)];
  const day = dayOf(Date.now() - 32 * DAY_MS);
  expect(await partitionsOf(old)).toEqual(TABLES.map(([table]) => `${table}_${day}`));
  await runRetention();
  expect(await partitionsOf(old)).toEqual([]);
  for (const [table] of TABLES)
    expect((await sql.query('select to_regclass($1) as name', [`${table}_${day}`])).rows).toEqual([{ name: null }]);
  expect(await partitionsOf(young)).toHaveLength(TABLES.length);
});

test('pushes of a day without a partition are deleted after 30 days, and so are audiences that no worker looked up', async () => {
  await runRetention();
  const [old, young] = [await insertOldPush(50), await insertOldPush(29)];
  expect(await partitionsOf(old)).toEqual(TABLES.map(([table]) => `${table}_default`));
  for (const id of [old, young])
    await sql.query(
      `insert into push_audiences (push_id, user_ids, device_ids, tokens, platform, registered, raw, stage, done, next_chunk, next_position)
       values ($1, '{}', '{}', '{}', 'ios', 0, 0, 'tokens', 0, 0, 0)`,
      [id],
    );
  expect(await runRetention()).toBe(TABLES.length + 1);
  expect(await partitionsOf(old)).toEqual([]);
  expect((await sql.query('delete from push_audiences returning push_id')).rows).toEqual([{ push_id: young }]);
});

test('a push that is older than 30 days is not shown, although its partition is dropped only after the end of its day', async () => {
  const [admin, ann] = [await person('Root', ['admin']), await person('Annette')];
  const [old, young] = [await insertOldPush(30.001, ann.id), await insertOldPush(29.999, ann.id)];
  expect((await admin.call('GET', `/api/push/${old}`)).status).toBe(404);
  expect((await admin.call('GET', `/api/push/${young}`)).body.data).toMatchObject({
    id: young,
    counts: { devices: 1 },
  });
  const exported: unknown[] = [];
  for await (const row of createPushUserData(platform.database).rows(ann.id)) exported.push(row);
  expect(exported).toEqual([expect.objectContaining({ push: young, message: { title: 'Old' } })]);
});

test('a receipt and a tap reach a push of an earlier day', async () => {
  const [admin, ben] = [await person('Rita', ['admin']), await person('Ben')];
  const registration = { platform: 'ios', token: 'a'.repeat(64) };
  const device = (await ben.call('POST', '/api/auth/devices', registration)).body.data.id;
  const push = await insertOldPush(12, ben.id, device);
  await app.push.receipt(push, device, { ok: false, error: 'Throttled' });
  await ben.call('POST', '/api/auth/devices/opened', { pushId: push });
  const read = async () => (await admin.call('GET', `/api/push/${push}`)).body.data.counts;
  await expect.poll(read).toMatchObject({ receipts: 1, receiptsFailed: 1, opened: 1 });
});

test('an erasure deletes pushes to the user alone from the partitions of all days, with their chunks and results', async () => {
  const cleo = await person('Cleo');
  const pushes = [await insertOldPush(25, cleo.id), await insertOldPush(2, cleo.id), await insertOldPush(50, cleo.id)];
  const shared = await insertOldPush(3, cleo.id);
  await sql.query(
    `insert into push_results (push_id, position, platform, masked_token, user_id) values ($1, 1, 'ios', '…', 'other')`,
    [shared],
  );
  expect(await createPushUserData(platform.database).erase(cleo.id)).toBe(4);
  for (const id of pushes) expect(await partitionsOf(id)).toEqual([]);
  const { rows } = await sql.query('select user_id from push_results where push_id = $1 order by position', [shared]);
  expect(rows).toEqual([{ user_id: null }, { user_id: 'other' }]);
});
