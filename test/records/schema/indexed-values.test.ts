import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineResource, f } from '../../../src/index.ts';
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
  resources: [unique, paired, ordered, short, listed],
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
