import { expect, test } from 'vitest';
import { pgTable, primaryKey, text, timestamptz } from '../../../../src/platform/data/postgres/drizzle.ts';
import { primaryKeyOf, removeExpiredSql } from '../../../../src/platform/data/postgres/expired-rows.ts';

const codes = pgTable('codes', { hash: text('code_hash').primaryKey(), expiresAt: timestamptz('expires_at') });
const seen = pgTable('seen', { userId: text('user_id'), mark: text('mark') }, (table) => [
  primaryKey({ columns: [table.userId, table.mark] }),
]);

const oneLine = (sql: string) => sql.replaceAll(/\s+/g, ' ');

test.each([
  [
    { table: codes },
    'delete from codes where (code_hash) in ( select code_hash from codes where expires_at <= now() order by expires_at limit $1 for update skip locked ) returning 1',
  ],
  [
    { table: seen, column: 'seen_at', keep: `interval '1 day'` },
    `delete from seen where (user_id, mark) in ( select user_id, mark from seen where seen_at <= now() - interval '1 day' order by seen_at limit $1 for update skip locked ) returning 1`,
  ],
  [
    { table: '"jobs"', column: 'finished_at', where: `status = 'done'` },
    `delete from "jobs" where (id) in ( select id from "jobs" where (status = 'done') and finished_at <= now() order by finished_at limit $1 for update skip locked ) returning 1`,
  ],
  [
    { table: 'events', column: 'id', keep: `interval '7 days'` },
    `delete from events where (id) in ( select id from events where id <= to_hex(floor(extract(epoch from now() - interval '7 days'))::bigint) order by id limit $1 for update skip locked ) returning 1`,
  ],
])('expired rows are removed by primary key, the oldest first: %j', (rows, sql) => {
  expect(oneLine(removeExpiredSql(rows))).toBe(sql);
});

test('the primary key of a table is found, whether it has one column or several', () => {
  expect([primaryKeyOf(codes), primaryKeyOf(seen)]).toEqual([['code_hash'], ['user_id', 'mark']]);
});
