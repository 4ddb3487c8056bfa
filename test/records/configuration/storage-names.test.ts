import { expect, test } from 'vitest';
import { defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { getStartupError, getStartupErrorOfOptions } from '../../support/startup-error.ts';

test.each([
  ['a table of the framework', 'outbox', 'is already the name of a table, an index or a key of Belfry'],
  [
    'an index of a framework table',
    'sessions_user_id_index',
    'is already the name of a table, an index or a key of Belfry',
  ],
  [
    'the primary key of a framework table',
    'sessions_pkey',
    'is already the name of a table, an index or a key of Belfry',
  ],
  ['the table of schema synchronization', 'belfry_sync', 'is already the name of a table, an index or a key of Belfry'],
  ["a table of Postgres's own", 'pg_class', 'names that begin with pg_ are reserved by Postgres'],
  ["a table with Postgres's prefix", 'pg_things', 'names that begin with pg_ are reserved by Postgres'],
  ['the primary key of another resource', 'users_pkey', 'is already the name of the primary key of "user"'],
])('a collection cannot be %s', (_what, collection, text) => {
  const message = getStartupErrorOfOptions({ collection });
  expect(message).toContain(`resource "thing": collection: "${collection}"`);
  expect(message).toContain(text);
  expect(message).toContain('choose another collection');
});

test('a field whose column name Postgres would truncate is refused, because two such fields could collide', () => {
  const most = 'aB'.repeat(21);
  const fields = { [most]: f.string(), [`${most}One`]: f.string(), [`${most}Two`]: f.string() };
  expect(getStartupErrorOfOptions({ fields }).split('\n').slice(1)).toEqual(
    ['One', 'Two'].map((end) =>
      expect.stringMatching(
        `resource "thing": field "${most}${end}": its column "a_b.*_${end.toLowerCase()}" has 67 characters, and Postgres truncates names at 63; choose a shorter name`,
      ),
    ),
  );
});

test('names of maximum length create tables, indexes and archives with distinct names', async () => {
  const field = `f${'x'.repeat(61)}`;
  const wide = () => f.string().max(20).unique().sortable().searchable().filterable();
  const fields = () => ({ [`${field}a`]: wide(), [`${field}b`]: wide(), owner: f.ref('user').owner() });
  const resource = (name: string, collection: string, more: object = {}) =>
    defineResource(name, {
      fields: fields(),
      collection,
      indexes: [{ fields: [`${field}a`, `-${field}b`] }],
      policies: { list: 'public', read: 'public', create: 'public', delete: 'public' },
      ...more,
    });
  const [long, archived] = ['t'.repeat(62), 'n'.repeat(54)];
  const { call, app } = await startTestApp({
    resources: [
      defineUser(),
      resource('one', `${long}a`),
      resource('two', `${long}b`),
      resource('three', `${archived}a`, { softDelete: true }),
      resource('four', `${archived}b`, { softDelete: true }),
    ],
    extensions: [softDelete()],
  });
  for (const path of ['/api/ones', '/api/twos', '/api/threes', '/api/fours']) {
    const made = await call('POST', path, { [`${field}a`]: 'a', [`${field}b`]: 'b' });
    expect([path, made.status]).toEqual([path, 201]);
    expect((await call('POST', path, { [`${field}a`]: 'a' })).body.error.details).toEqual({
      [`${field}a`]: 'Is already taken',
    });
    expect((await call('DELETE', `${path}/${made.body.data.id}`)).status).toBe(204);
  }
  expect((await app.service('four').list({ deleted: 'only' })).data).toHaveLength(1);
});

test('a collection name that Postgres would truncate is refused', () => {
  expect(getStartupErrorOfOptions({ collection: 'n'.repeat(64) })).toContain(
    `collection: "${'n'.repeat(64)}" has 64 characters, and Postgres truncates names at 63; set collection to a shorter name`,
  );
});

test.each(['notes_deleted', 'notes_deleted_pkey', 'notes_deleted_deleted_at_index'])(
  'a collection cannot be named %s, because an archive uses such a name',
  (collection) => {
    const resources = [
      defineUser(),
      defineResource('note', { fields: { a: f.string() }, softDelete: true }),
      defineResource('thing', { fields: { a: f.string() }, collection }),
    ];
    expect(getStartupError({ resources, extensions: [softDelete()] })).toContain(
      `resource "thing": collection: "${collection}" is already the name of a table, an index or a key`,
    );
  },
);
