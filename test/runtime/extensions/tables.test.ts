import { check, foreignKey } from 'drizzle-orm/pg-core';
import { expect, test } from 'vitest';
import { defineExtension, defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { index, pgTable, sql, text } from '../../../src/platform/data/postgres/drizzle.ts';
import { startTestApp } from '../../support/app.ts';
import { getStartupError } from '../../support/startup-error.ts';

const table = (name: string, indexed?: string) =>
  pgTable(name, { id: text('id').primaryKey() }, ({ id }) => (indexed === undefined ? [] : [index(indexed).on(id)]));

const extension = (name: string, tables: object) =>
  defineExtension({ name, tables: tables as never, setup: () => ({}) });

const note = defineResource('note', { fields: { title: f.string() }, softDelete: true });

const mistakesOf = (...extensions: ReturnType<typeof extension>[]) =>
  getStartupError({ resources: [defineUser(), note], extensions: [softDelete(), ...extensions] })
    .split('\n')
    .slice(1);

const OURS = "a table, an index or a key of Belfry's own";

test.each([
  ['the outbox', 'outbox', OURS],
  ['sessions', 'sessions', OURS],
  ['pushes', 'pushes', OURS],
  ['a primary key of Belfry', 'mails_pkey', OURS],
  ['the table of schema synchronization', 'belfry_sync', OURS],
  ['the deleted records of a resource', 'notes_deleted', 'the table of the deleted records of "note"'],
])('an extension table with the name of %s is refused, whatever its key in the extension', (_what, name, held) => {
  const expectedErrors = [`  - extension "mine": table "${name}": "${name}" is ${held}. Rename it`];
  expect(mistakesOf(extension('mine', { [name]: table(name) }))).toEqual(expectedErrors);
  expect(mistakesOf(extension('mine', { other: table(name) }))).toEqual(expectedErrors);
});

test('an extension table with the name of a resource table is refused', () => {
  expect(mistakesOf(extension('mine', { x: table('notes') }))).toEqual([
    '  - resource "note": collection: "notes" is already the name of a table, an index or a key of Belfry or of an extension; choose another collection',
  ]);
});

test('extension tables with the same name are refused, across extensions and within one', () => {
  expect(mistakesOf(extension('one', { x: table('things') }), extension('two', { y: table('things') }))).toEqual([
    '  - table "things": the extensions "one" and "two" both declare it. Rename one',
  ]);
  expect(
    mistakesOf(extension('one', { x: table('a', 'by_id') }), extension('two', { y: table('b', 'by_id') })),
  ).toEqual(['  - index or key "by_id": the extensions "one" and "two" both declare it. Rename one']);
  expect(mistakesOf(extension('one', { x: table('things'), y: table('things') }))).toEqual([
    '  - extension "one": table "things": "things" is declared twice. Rename one',
  ]);
});

test('an extension name that Postgres would truncate is refused, for a table, a column, an index or a constraint', () => {
  const long = (what: string) => `${what}_${'x'.repeat(60)}`;
  const other = pgTable('others', { id: text('id').primaryKey() });
  const named = pgTable(
    'named',
    { id: text('id').primaryKey(), wide: text(long('column')), other: text('other').unique(long('unique')) },
    (columns) => [
      index(long('index')).on(columns.wide),
      check(long('check'), sql`true`),
      foreignKey({ name: long('key'), columns: [columns.other], foreignColumns: [other.id] }),
    ],
  );
  const tooLong = (at: string, name: string) =>
    `  - extension "mine": table "${at}": the name "${name}" has ${name.length} bytes, but Postgres truncates names to 63. Choose a shorter name`;
  const names = ['index', 'unique', 'column', 'key', 'check'].map(long);
  expect(mistakesOf(extension('mine', { named, [long('table')]: table(long('table')) }))).toEqual([
    ...names.map((name) => tooLong('named', name)),
    tooLong(long('table'), long('table')),
  ]);
});

test.each([
  ['notes_pkey', 'the primary key of the resource "note"'],
  ['notes_deleted_pkey', 'an index or a key of the deleted records of "note"'],
  ['notes_deleted_deleted_at_index', 'an index or a key of the deleted records of "note"'],
])('a table or an index of an extension cannot be called %s', (name, held) => {
  expect(mistakesOf(extension('mine', { a: table(name), b: table('fine', name) }))).toEqual([
    `  - extension "mine": table "${name}": "${name}" is ${held}. Rename it`,
    `  - extension "mine": table "fine": "${name}" is ${held}. Rename it`,
  ]);
});

test('a value that is not a table is refused, together with all other errors', () => {
  expect(mistakesOf(extension('one', { x: {}, y: undefined, z: table('outbox') }))).toEqual([
    '  - extension "one": table "x": is not a table. Create it with drizzle\'s pgTable',
    '  - extension "one": table "y": is not a table. Create it with drizzle\'s pgTable',
    `  - extension "one": table "outbox": "outbox" is ${OURS}. Rename it`,
  ]);
});

test('a table under the key of another table is created under its own name, and the other table is unchanged', async () => {
  const { app, person } = await startTestApp({
    resources: [defineUser()],
    extensions: [extension('mine', { sessions: table('mine') })],
  });
  expect(Object.keys(app.tables)).toEqual(expect.arrayContaining(['mine', 'sessions']));
  expect((await (await person('Ann')).call('GET', '/api/auth/me')).status).toBe(200);
});
