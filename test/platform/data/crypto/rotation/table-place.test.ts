import { Client } from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { EncryptedColumn } from '../../../../../src/platform/data/crypto/encrypted-column.ts';
import { createKeyring } from '../../../../../src/platform/data/crypto/keyring.ts';
import { createTablePlace } from '../../../../../src/platform/data/crypto/rotation/table-place.ts';
import { openDatabase } from '../../../../../src/platform/data/postgres/database.ts';
import { createLogger } from '../../../../../src/platform/observability/log.ts';
import { generateKey, getKeyId } from '../../../../support/database/encrypted-patients.ts';
import { createTestDatabase } from '../../../../support/database/test-database.ts';

const own = await createTestDatabase();
const database = openDatabase(own.databaseUrl, 'test', createLogger('silent', 'test'));
const other = new Client(own.databaseUrl);
await other.connect();
afterAll(async () => {
  await other.end();
  await database.close();
  await own.drop();
});

const [old, next] = [generateKey(), generateKey()];
const ring = createKeyring([next, old]);
const column = (name: string): EncryptedColumn => ({
  name: `odd.${name}`,
  table: 'odd "table"',
  column: name,
  key: 'the key',
  context: (id) => `${name}/${id}`,
});
const place = createTablePlace(database, [column('one'), column('select')]);
const all = async () =>
  (await other.query({ text: 'select * from "odd ""table""" order by 1', rowMode: 'array' })).rows;
const encrypted = (plain: string, context: string, key = old) => createKeyring([key]).encrypt(plain, context);

beforeEach(async () => {
  await other.query('drop table if exists "odd ""table"""');
  await other.query('create table "odd ""table""" ("the key" text primary key, "one" text, "select" text)');
  const rows = ['a', 'b', 'c'].map((id) => [id, encrypted(`1${id}`, `one/${id}`), encrypted(`2${id}`, `select/${id}`)]);
  for (const row of rows) await other.query('insert into "odd ""table""" values ($1, $2, $3)', row);
});

/** The replacements that a rotation would write for the values it found. */
async function replacements() {
  const values = await place.findStaleValues((await place.findRowRange())!, getKeyId(next));
  return values.map((value) => {
    const context = value.column.context(value.id);
    return { ...value, next: ring.encrypt(ring.decrypt(value.text, context), context) };
  });
}

test('all values are replaced, whatever the names of the table and its columns', async () => {
  const found = await replacements();
  expect(found.map(({ row, column: { name } }) => `${row} ${name}`)).toEqual([
    'a odd.one',
    'a odd.select',
    'b odd.one',
    'b odd.select',
    'c odd.one',
    'c odd.select',
  ]);
  expect(await place.replaceValues(found)).toBe(6);
  expect(await replacements()).toEqual([]);
  for (const [id, one, two] of await all()) {
    expect([ring.decrypt(one, `one/${id}`), ring.decrypt(two, `select/${id}`)]).toEqual([`1${id}`, `2${id}`]);
  }
});

test('a row changed since it was read keeps the change, also in the other column', async () => {
  const found = await replacements();
  const written = encrypted('newer', 'one/b');
  await other.query(`update "odd ""table""" set "one" = $1 where "the key" = 'b'`, [written]);
  expect(await place.replaceValues(found)).toBe(4);
  const [, b] = await all();
  expect(b![1]).toBe(written);
  expect(b![2]).toBe(found.find(({ row, slot }) => row === 'b' && slot === '1')!.text);
});

test('a row cleared or deleted since it was read stays cleared or deleted', async () => {
  const found = await replacements();
  await other.query(`update "odd ""table""" set "one" = null, "select" = '' where "the key" = 'b'`);
  await other.query(`delete from "odd ""table""" where "the key" = 'c'`);
  expect(await place.replaceValues(found)).toBe(2);
  expect((await all()).slice(1)).toEqual([['b', null, '']]);
});

test('a locked row is skipped and keeps the concurrent write', async () => {
  const found = await replacements();
  const written = encrypted('newer', 'one/b');
  await other.query('begin');
  await other.query(`update "odd ""table""" set "one" = $1 where "the key" = 'b'`, [written]);
  expect(await place.replaceValues(found)).toBe(4);
  await other.query('commit');
  expect(await place.replaceValues(found)).toBe(0);
  expect((await all())[1]![1]).toBe(written);
});

test('a value already under the newest key is left alone while the other column is replaced', async () => {
  const current = encrypted('current', 'one/a', next);
  await other.query(`update "odd ""table""" set "one" = $1 where "the key" = 'a'`, [current]);
  const found = await replacements();
  expect(found).toHaveLength(5);
  expect(await place.replaceValues(found)).toBe(5);
  expect((await all())[0]![1]).toBe(current);
});

test('counts omit missing values, and report texts that are not ciphertexts as such', async () => {
  await other.query(`insert into "odd ""table""" values ('d', null, ''), ('e', 'plain', $1)`, [
    encrypted('x', 'select/e', next),
  ]);
  const { counts } = await place.count((await place.findRowRange())!);
  const countLines = counts.map(({ name, keyId, count }) => `${name} ${keyId} ${count}`).sort();
  expect(countLines).toEqual(
    [
      `odd.one ${getKeyId(old)} 3`,
      'odd.one null 1',
      `odd.select ${getKeyId(next)} 1`,
      `odd.select ${getKeyId(old)} 3`,
    ].sort(),
  );
});

test('an empty table has no range to process', async () => {
  await other.query('delete from "odd ""table"""');
  expect(await place.findRowRange()).toBeUndefined();
});
