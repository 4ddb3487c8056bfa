// The names of indexes, and what they demand of values.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { compileResources } from '../../../src/records/schema/compile.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public' } as const;
const HEX = '0123456789abcdef01234567';

const unique = defineResource('unique', {
  fields: {
    string: f.string().unique().lowercase(),
    email: f.email().unique(),
    url: f.url().unique(),
    number: f.number().unique(),
    integer: f.integer().unique(),
    date: f.date().unique(),
    enum: f.enum(['a', 'b']).unique(),
    key: f.id().unique(),
    ref: f.ref('unique').unique(),
  },
  policies: open,
});
const paired = defineResource('paired', {
  fields: { a: f.string(), b: f.string(), c: f.string().max(100), n: f.integer(), free: f.string() },
  indexes: [{ fields: ['a', 'n'], unique: true }, { fields: ['-b', 'c', 'createdAt'] }],
  policies: open,
});
const pair = defineResource('pair', {
  fields: { a: f.string(), b: f.string(), aB: f.string().unique(), alone: f.string() },
  indexes: [
    { fields: ['a', 'b'], unique: true },
    { fields: ['-alone'], unique: true },
  ],
  policies: open,
});
const ordered = defineResource('ordered', {
  fields: { first: f.string().sortable(), second: f.url().sortable() },
  defaultSort: 'first,second',
  policies: open,
});
const short = defineResource('short', {
  fields: { a: f.string().max(50), b: f.email(), c: f.enum(['x', 'y']), plain: f.integer().index() },
  defaultSort: 'a,-b,c',
  policies: open,
});

const listed = defineResource('listed', {
  fields: {
    strings: f.array(f.string()).filterable(),
    texts: f.array(f.text().required()).filterable(['eq']),
    urls: f.array(f.url()).filterable(['all']),
    free: f.array(f.string()),
    deep: f.array(f.array(f.string())).filterable(['exists']),
  },
  policies: open,
});

const { call, env } = await startTestApp({
  resources: [unique, pair, paired, ordered, short, listed],
});
const database = new Client({ connectionString: env.DATABASE_URL });
await database.connect();
afterAll(() => database.end());

const create = (path: string, body: object) => call('POST', `/api/${path}`, body);
/** A text that does not compress. */
const noise = (characters: number) => randomBytes(characters).toString('base64').slice(0, characters);

test.each<[string, unknown, unknown]>([
  ['string', 'Ann', ' ANN '],
  ['email', 'a@b.co', 'A@B.CO'],
  ['url', 'https://a.co', 'https://a.co'],
  ['number', 0, -0],
  ['integer', 1, 1],
  ['date', '2026-01-01', '2026-01-01T01:00:00+01:00'],
  ['enum', 'a', 'a'],
  ['key', HEX, HEX.toUpperCase()],
  ['ref', HEX, HEX.toUpperCase()],
])(
  '%s: a value that is equal after normalization is a duplicate, and the 409 names the field',
  async (field, one, same) => {
    expect((await create('uniques', { [field]: one })).status).toBe(201);
    const { status, body } = await create('uniques', { [field]: same });
    expect([status, body.error.code, Object.keys(body.error.details)]).toEqual([409, 'CONFLICT', [field]]);
  },
);

test('records without a value are not duplicates of each other', async () => {
  for (let i = 0; i < 3; i++) expect((await create('uniques', {})).status).toBe(201);
  for (let i = 0; i < 2; i++) expect((await create('paireds', { a: 'same' })).status).toBe(201);
});

test('an index over several fields makes the combination of their values unique', async () => {
  expect((await create('paireds', { a: 'x', n: 1 })).status).toBe(201);
  expect((await create('paireds', { a: 'x', n: 2 })).status).toBe(201);
  const { status, body } = await create('paireds', { a: ' x ', n: 1 });
  expect([status, body.error.code]).toEqual([409, 'CONFLICT']);
});

test('texts in an index over several fields are limited to the size of an index entry, and other texts are unlimited', async () => {
  const fits = await create('paireds', { a: noise(1300), b: noise(1300), c: noise(100), n: 5, free: noise(9000) });
  expect(fits.status).toBe(201);
  const { status, body } = await create('paireds', { a: noise(1301), b: noise(1301) });
  expect([status, body.error.details]).toEqual([
    422,
    { a: 'Must be at most 1300 bytes', b: 'Must be at most 1300 bytes' },
  ]);
  expect((await call('PATCH', `/api/paireds/${fits.body.data.id}`, { a: noise(1301) })).status).toBe(422);
});

test('a default order by texts too long for a common index accepts records of any length', async () => {
  const long = { first: noise(2600), second: `https://a.co/${noise(2580).replaceAll('/', '_')}` };
  expect((await create('ordereds', long)).status).toBe(201);
  const { status, body } = await create('ordereds', { first: noise(2601) });
  expect([status, body.error.details]).toEqual([422, { first: 'Must be at most 2600 bytes' }]);
  expect((await call('GET', '/api/ordereds')).body.data).toHaveLength(1);
});

test('index() and a default order by short fields create their indexes', async () => {
  const { rows } = await database.query(`select indexdef from pg_indexes where tablename = 'shorts'`);
  const definitions = rows.map((row) => row.indexdef.replace(/.* using /i, ''));
  expect(definitions).toContain('btree (plain)');
  expect(definitions).toContain('btree (a, b DESC, c, id)');
  const long = { a: '💚'.repeat(50), b: `${'a'.repeat(60)}@${'b'.repeat(60)}.com`, c: 'x' };
  expect((await create('shorts', long)).status).toBe(201);
});

test.each([
  ['strings', ''],
  ['texts', ''],
  ['urls', 'https://a.co/'],
])('an item of a filterable list that does not fit into the index is refused: %s', async (name, head) => {
  const item = (bytes: number) => head + noise(bytes - head.length);
  const fits = await create('listeds', { [name]: [item(2600), `${head}x`] });
  expect(fits.status).toBe(201);
  for (const bytes of [2601, 6000]) {
    const { status, body } = await create('listeds', { [name]: [`${head}x`, item(bytes)] });
    expect([status, body.error.details]).toEqual([422, { [`${name}.1`]: 'Must be at most 2600 bytes' }]);
  }
  const { body } = await call('PATCH', `/api/listeds/${fits.body.data.id}`, { [name]: [item(6000)] });
  expect(body.error.details).toEqual({ [`${name}.0`]: 'Must be at most 2600 bytes' });
});

test('an item of a list without an index can have any length', async () => {
  const { status } = await create('listeds', { free: [noise(6000)], deep: [[noise(6000)]] });
  expect(status).toBe(201);
});

test('a duplicate reports the fields of the index that it violates, whatever the name of the index', async () => {
  const detailsOf = async (body: object) => (await create('pairs', body)).body.error?.details;
  expect(await detailsOf({ a: '1', b: '1', aB: 'x', alone: 'x' })).toBeUndefined();
  const { status, body } = await create('pairs', { a: '1', b: '1' });
  const together = { a: 'Is already taken together with b', b: 'Is already taken together with a' };
  expect([status, body.error.details]).toEqual([409, together]);
  expect(await detailsOf({ a: '2', aB: 'x' })).toEqual({ aB: 'Is already taken' });
  expect(await detailsOf({ a: '3', alone: 'x' })).toEqual({ alone: 'Is already taken' });
});

const NAMES = ['a', 'b', 'aB', 'bA', 'aDesc', 'aSort', 'aBIndex', 'A'.repeat(30).toLowerCase()];
const modifiers: ((field: AnyField) => AnyField)[] = [
  (field) => field.index(),
  (field) => field.unique(),
  (field) => field.filterable(),
  (field) => field.sortable(),
  (field) => field.searchable(),
];
const field = fc
  .subarray(modifiers)
  .map((chosen) => chosen.reduce((made, modifier) => modifier(made), f.string().max(20) as AnyField));
const term = fc
  .tuple(fc.constantFrom('', '-'), fc.constantFrom('a', 'b', 'aB', 'createdAt', 'id'))
  .map((t) => t.join(''));
const index = fc.record({
  fields: fc.uniqueArray(term, { selector: (one) => one.replace('-', ''), minLength: 1 }),
  unique: fc.boolean(),
});
const resource = (name: string) =>
  fc
    .record({
      fields: fc
        .tuple(...NAMES.map(() => field))
        .map((fields) => Object.fromEntries(fields.map((one, i) => [NAMES[i]!, one]))),
      indexes: fc.array(index, { maxLength: 6 }),
    })
    .map((options) => defineResource(name, { ...options, collection: name }));

test('no two relations of a schema have the same name, and no index duplicates another one', () => {
  fc.assert(
    fc.property(resource('t'), resource('t_a'), (one, other) => {
      const taken = ['t_a_index', 't_b_a_index', 't_pkey'];
      const compiled = compileResources([one, other], 'reject', taken);
      const names = [...taken, 't', 't_a', ...compiled.flatMap(({ indexes }) => indexes.map(({ name }) => name))];
      expect(new Set(names).size).toBe(names.length);
      expect(names.filter((name) => Buffer.byteLength(name) > 63)).toEqual([]);
      for (const { indexes } of compiled) {
        const works = indexes.map(
          ({ method, terms }) => `${method} ${terms.map(({ column, descending }) => `${column} ${descending}`)}`,
        );
        expect(new Set(works).size).toBe(works.length);
        const first = (name: string) => indexes.filter(({ terms }) => terms.length === 1 && terms[0]!.field === name);
        // Every field declared unique has a unique index.
        for (const { fields, unique } of [one, other][compiled.findIndex((each) => each.indexes === indexes)]!
          .indexes ?? []) {
          const own = fields[0]!.replace('-', '');
          if (unique && fields.length === 1 && own !== 'id') expect(first(own).some((each) => each.unique)).toBe(true);
        }
      }
    }),
  );
});

test('an index keeps its name when another index that would have the same name is added', () => {
  const fields = { a: f.string(), b: f.string(), aB: f.string() };
  const namesOf = (...indexes: string[][]) =>
    compileResources(
      [defineResource('t', { fields, indexes: indexes.map((list) => ({ fields: list })) })],
      'reject',
    )[0]!
      .indexes.map(({ name }) => name)
      .filter((name) => name !== 'ts_created_at_index');
  expect(namesOf(['-a', 'b'])).toEqual(['ts_a_b_index']);
  expect(namesOf(['-a', 'b'], ['a', 'b'], ['a', '-b'])).toEqual([
    'ts_a_b_index',
    expect.stringMatching(/^ts_a_b_index_/),
  ]);
  expect(namesOf(['a', 'b'], ['-a', 'b'])).toEqual(['ts_a_b_index', 'ts_a_desc_b_index']);
  expect(namesOf(['a', 'b'], ['aB'])).toEqual(['ts_a_b_index', expect.stringMatching(/^ts_a_b_index_[0-9a-f]{8}$/)]);
});
