import { Client } from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { defineOwnedTable } from '../../../src/accounts/users/owned-table.ts';
import { createDeletedUsersConsumer } from '../../../src/accounts/users/user-state.ts';
import { openDatabase } from '../../../src/platform/data/postgres/database.ts';
import { pgTable, primaryKey, text, timestamptz } from '../../../src/platform/data/postgres/drizzle.ts';
import { createLogger } from '../../../src/platform/observability/log.ts';
import type { OutboxRow } from '../../../src/platform/work/outbox/table.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';

const gifts = pgTable('gifts', {
  id: text('id').primaryKey(),
  giverId: text('giver_id'),
  takerId: text('taker_id'),
  secret: text('secret'),
  givenAt: timestamptz('given_at'),
});
const marks = pgTable('marks', { userId: text('user_id'), mark: text('mark') }, (table) => [
  primaryKey({ columns: [table.userId, table.mark] }),
]);
const ownedGifts = defineOwnedTable(gifts, { owners: ['giverId', 'takerId'], addedAt: 'givenAt', locksInOrder: true });
const ownedMarks = defineOwnedTable(marks);

const own = await createTestDatabase();
const client = new Client({ connectionString: own.databaseUrl });
await client.connect();
const database = openDatabase(own.databaseUrl, 'test', createLogger('silent', 'test'));
afterAll(async () => {
  await database.close();
  await client.end();
  await own.drop();
});

beforeEach(() =>
  client.query(`
    drop table if exists gifts, marks, people;
    create table people (id text primary key);
    create table gifts (id text primary key, giver_id text, taker_id text, secret text, given_at timestamptz(3));
    create table marks (user_id text, mark text, primary key (user_id, mark));
    insert into people values ('ben');
    insert into gifts values ('g1', 'ann', 'ben', 'x', '2026-01-01T00:00:00Z'), ('g2', 'ben', 'ann', 'x', '2026-02-01T00:00:00Z'),
      ('g3', 'ben', 'cat', 'x', '2026-03-01T00:00:00Z');
    insert into marks select 'ann', 'm' || i from generate_series(1, 1200) i;
    insert into marks values ('ben', 'm1')`),
);

const leftGifts = async () => (await client.query('select id from gifts order by id')).rows.map(({ id }) => id);
const countMarks = async () => (await client.query('select count(*)::int as count from marks')).rows[0].count;

test('an export has the chosen values of all rows of a user, in pages, and no others', async () => {
  const given = ownedGifts.describe(database, {
    name: 'gifts',
    description: 'Gifts',
    exported: ['givenAt', ['isSecret', 'secret is not null']],
  });
  expect(await Array.fromAsync(given.rows('ann'))).toEqual([
    { givenAt: '2026-01-01T00:00:00.000Z', isSecret: true },
    { givenAt: '2026-02-01T00:00:00.000Z', isSecret: true },
  ]);
  const marked = ownedMarks.describe(database, { name: 'marks', description: 'Marks', exported: ['mark'] });
  const rows = await Array.fromAsync(marked.rows('ann'));
  expect(new Set(rows.map(({ mark }) => mark)).size).toBe(1200);
  const hidden = ownedMarks.describe(database, { name: 'marks', description: 'Marks' });
  expect(await Array.fromAsync(hidden.rows('ann'))).toEqual([]);
});

test('an erasure removes all rows of one user, also in the other tables, and counts those of its own table', async () => {
  const data = ownedMarks.describe(database, { name: 'marks', description: 'Marks', also: [ownedGifts] });
  expect(data.tables).toEqual(['marks', 'gifts']);
  expect(await data.erase('ann')).toBe(1200);
  expect([await countMarks(), await leftGifts()]).toEqual([1, ['g3']]);
});

test('rows are removed by any owner, or only those that were added since a time', async () => {
  await ownedGifts.remove(database, ['ann', 'cat'], '2026-02-01T00:00:00.000Z');
  expect(await leftGifts()).toEqual(['g1']);
  await ownedGifts.remove(database, ['ann', 'cat']);
  expect(await leftGifts()).toEqual([]);
});

test('the rows of deleted users are removed, and those of a user who was restored stay', async () => {
  const users = { table: 'people', archiveTable: undefined };
  const consumer = createDeletedUsersConsumer(users, ownedGifts, 'delete from marks where user_id = any($1)');
  const deleted = (recordId: string) => ({ name: 'user.deleted', recordId }) as OutboxRow;
  await consumer.handle([deleted('ben'), deleted('ann')], database);
  expect([await countMarks(), await leftGifts()]).toEqual([1, ['g3']]);
});
