import { expect, test } from 'vitest';
import { f } from '../../../src/index.ts';
import { startupErrorOfOptions } from '../../support/startup-error.ts';

test.each([
  ['a table of our own', 'outbox', "is a table, an index or a key of Belfry's own"],
  ['an index of a table of our own', 'sessions_user_id_index', "is a table, an index or a key of Belfry's own"],
  ['the primary key of a table of our own', 'sessions_pkey', "is a table, an index or a key of Belfry's own"],
  ['the table of sync', 'belfry_sync', "is a table, an index or a key of Belfry's own"],
  ["a table of Postgres's own", 'pg_class', "names that begin with pg_ are Postgres's own"],
  ["a table with Postgres's prefix", 'pg_things', "names that begin with pg_ are Postgres's own"],
  ['the primary key of another resource', 'users_pkey', 'is the primary key of "user"'],
])('a collection cannot be %s', (_what, collection, text) => {
  const message = startupErrorOfOptions({ collection });
  expect(message).toContain(`resource "thing": collection: "${collection}"`);
  expect(message).toContain(text);
  expect(message).toContain('set collection to another name');
});

test('a field whose column Postgres would cut is refused: two of them would be one', () => {
  const most = 'aB'.repeat(21);
  const fields = { [most]: f.string(), [`${most}One`]: f.string(), [`${most}Two`]: f.string() };
  expect(startupErrorOfOptions({ fields }).split('\n').slice(1)).toEqual(
    ['One', 'Two'].map((end) =>
      expect.stringMatching(
        `resource "thing": field "${most}${end}": its column "a_b.*_${end.toLowerCase()}" has 67 characters, and Postgres cuts names at 63; choose a shorter name`,
      ),
    ),
  );
});
