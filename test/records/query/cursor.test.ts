import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { createCursorAfter } from '../../../src/records/query/cursor.ts';
import { compileResources } from '../../../src/records/schema/compile.ts';
import { type Client, startTestApp } from '../../support/app.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';

const row = defineResource('row', {
  fields: {
    int: f.integer().sortable().filterable(),
    text: f.string().sortable().searchable(),
    price: f.number().sortable(),
    at: f.date().sortable(),
    live: f.boolean().sortable().filterable(),
    kind: f.enum(['b', 'a', 'ä']).sortable(),
    friend: f.ref('row').sortable(),
    author: f.ref('user').owner(),
    salary: f.integer().sortable().visibleTo('admin'),
  },
  policies: { list: 'public', read: 'public' },
});
const open = { list: 'public', read: 'public' } as const;
const ranked = defineResource('ranked', {
  fields: { rank: f.integer(), name: f.string(), room: f.string() },
  policies: open,
  defaultSort: '-rank,name',
  scope: ({ req }) => (req?.headers['x-room'] === undefined ? undefined : { room: req.headers['x-room'] }),
});
const listed = defineResource('listed', {
  fields: { tags: f.array(f.string()), room: f.string() },
  policies: open,
  defaultSort: 'tags',
  scope: ({ req }) => (req?.headers['x-room'] === undefined ? undefined : { room: req.headers['x-room'] }),
});
const shaped = defineResource('shaped', {
  fields: { data: f.json(), text: f.text() },
  policies: open,
  timestamps: false,
  defaultSort: 'data,-text',
});
const bare = defineResource('bare', { fields: { name: f.string() }, policies: open, timestamps: false });
const counted = defineResource('counted', { fields: { count: f.integer().filterable() }, policies: open });
const own = defineResource('own', {
  fields: { name: f.string().sortable(), author: f.ref('user').owner() },
  policies: { list: 'owner | admin' },
});

const { app, call, person } = await startTestApp({
  resources: [defineUser(), row, ranked, listed, shaped, bare, counted, own],
  settings: { pagination: { maxLimit: 200 } },
});
const [ann, admin] = [await person('Ann'), await person('Root', ['user', 'admin'])];
const rows = app.service('row');

type Row = Record<string, unknown> & { id: string };
const COUNT = 120;
let seed = 7;
const below = (count: number) => {
  seed = (seed * 48_271) % 2_147_483_647;
  return seed % count;
};
const ids = Array.from({ length: 3 }, (_, i) => String(i).repeat(24));
const POOL: Record<string, readonly unknown[]> = {
  int: [-1, 0, 2 ** 53 - 1],
  text: ['', 'a', 'B', 'ä', 'x'.repeat(1200), '\u0001"\\', '💚'],
  price: [0.1, 1e300, -5e-324],
  at: ['2026-01-01T00:00:00.001Z', '0001-01-01', '9999-12-31T23:59:59.999Z'],
  live: [true, false],
  kind: ['a', 'b', 'ä'],
  friend: ids,
};
for (let i = 0; i < COUNT; i++) {
  const values = Object.entries(POOL).map(([name, pool]) => [name, pool[below(pool.length + 1)]]);
  await rows.create({ ...Object.fromEntries(values), author: i % 2 === 0 ? ann.id : admin.id });
}

/** Walks a list by cursor. Returns all its records and the number of pages. */
async function walk(as: Client, path: string, query: string, between?: (page: number) => Promise<unknown>) {
  const found: Row[] = [];
  const join = query === '' ? '' : '&';
  for (let page = 1, more = query; ; page++) {
    const { status, body } = await as('GET', `/api/${path}?${more}`);
    expect([status, body.error]).toEqual([200, undefined]);
    found.push(...body.data);
    if (page > 1) expect(Object.keys(body.meta)).toEqual(['limit', 'next']);
    if ((body.meta.next ?? null) === null) return { found, pages: page };
    await between?.(page);
    more = `${query}${join}after=${body.meta.next}`;
  }
}

const idsOf = (records: readonly Row[]) => records.map((record) => record.id);

const term = fc.constantFrom('int', 'text', 'price', 'at', 'live', 'kind', 'friend', 'createdAt', 'updatedAt');
const order = fc
  .uniqueArray(term, { minLength: 1, maxLength: 4 })
  .chain((names) =>
    fc.tuple(...names.map((name) => fc.boolean().map((down) => (down ? `-${name}` : name)))).map((list) => list.join()),
  );

test('cursors and page numbers return the same records in the same order, each once, for any sort, limit and filter', async () => {
  const property = fc.asyncProperty(
    order,
    fc.integer({ min: 5, max: 130 }),
    fc.constantFrom('', '&live=true', '&int[gte]=0', '&live[exists]=false', '&q=a'),
    async (sort, limit, filter) => {
      const query = `sort=${sort}${filter}`;
      const { data, meta } = (await call('GET', `/api/rows?${query}&limit=200`)).body;
      expect(meta).toEqual({ total: data.length, page: 1, limit: 200, pages: data.length === 0 ? 0 : 1 });
      const { found, pages } = await walk(call, 'rows', `${query}&limit=${limit}`);
      expect(idsOf(found)).toEqual(idsOf(data));
      expect(new Set(idsOf(found)).size).toBe(data.length);
      const paged: Row[] = [];
      for (let page = 1; page <= pages; page++) {
        paged.push(...(await call('GET', `/api/rows?${query}&limit=${limit}&page=${page}`)).body.data);
      }
      expect(idsOf(paged)).toEqual(idsOf(data));
    },
  );
  await fc.assert(property, { numRuns: scaleRuns(20) });
});

test('records without the value come last, or first in descending order, and the id breaks ties', async () => {
  const after = (a: unknown, b: unknown) =>
    a === b ? 0 : a === undefined ? 1 : b === undefined ? -1 : Number(a) - Number(b);
  for (const sort of ['int', '-int']) {
    const { found } = await walk(call, 'rows', `sort=${sort}&limit=7`);
    const turn = sort === 'int' ? 1 : -1;
    const expected = found.toSorted((a, b) => turn * (after(a.int, b.int) || (a.id < b.id ? -1 : 1)));
    expect(idsOf(found)).toEqual(idsOf(expected));
    expect(found[sort === 'int' ? COUNT - 1 : 0]!.int).toBeUndefined();
  }
});

test('existing records are returned once each while others are inserted, changed and removed', async () => {
  const before = new Set(idsOf((await rows.list({ limit: 200 })).data as Row[]));
  for (const sort of ['-createdAt', 'createdAt', 'int', '-text,live']) {
    const made: string[] = [];
    const { found } = await walk(call, 'rows', `sort=${sort}&limit=9&count=none`, async (page) => {
      const values = { int: page % 3, text: 'a', live: true };
      made.push((await rows.create(values)).id);
      // The record that the cursor points to may be deleted.
      if (page === 2) await rows.delete(made[0]!);
    });
    const old = idsOf(found).filter((id) => before.has(id));
    expect([sort, old.length, new Set(old).size]).toEqual([sort, before.size, before.size]);
    for (const id of made.slice(1)) await rows.delete(id);
  }
});

test('a cursor continues after a deleted record', async () => {
  const made = [];
  for (const int of [71, 72, 73]) made.push(await rows.create({ int }));
  const first = (await call('GET', '/api/rows?int[gt]=70&int[lt]=80&sort=int&limit=1')).body;
  expect(first.data[0].int).toBe(71);
  await rows.delete(first.data[0].id);
  const { body } = await call('GET', `/api/rows?int[gt]=70&int[lt]=80&sort=int&limit=1&after=${first.meta.next}`);
  expect(body.data[0].int).toBe(72);
  for (const { id } of made.slice(1)) await rows.delete(id);
});

test('the total is omitted with count=none and after a cursor, and the last page has no next cursor', async () => {
  const get = async (query: string) => (await call('GET', `/api/rows?${query}`)).body.meta;
  const next = expect.any(String);
  expect(await get('limit=50')).toEqual({ total: COUNT, page: 1, limit: 50, pages: 3, next });
  expect(await get('limit=50&page=3')).toEqual({ total: COUNT, page: 3, limit: 50, pages: 3 });
  expect(await get('limit=50&page=4')).toEqual({ total: COUNT, page: 4, limit: 50, pages: 3 });
  expect(await get('limit=50&count=none')).toEqual({ limit: 50, next });
  expect(await get('limit=50&count=none&page=3')).toEqual({ limit: 50, next: null });
  expect(await get('limit=120&count=none')).toEqual({ limit: 120, next: null });
  expect(await get('limit=119&count=none')).toEqual({ limit: 119, next });
  expect(await get(`limit=60&after=${(await get('limit=60')).next}`)).toEqual({ limit: 60, next: null });
});

test('a cursor is a position in an order: it works with another limit, other filters and another viewer', async () => {
  const { next } = (await ann.call('GET', '/api/rows?sort=at&limit=30')).body.meta;
  const all = idsOf((await call('GET', '/api/rows?sort=at&limit=200')).body.data);
  expect(idsOf((await call('GET', `/api/rows?sort=at&limit=5&after=${next}`)).body.data)).toEqual(all.slice(30, 35));
  const filtered = (await call('GET', '/api/rows?sort=at&limit=200&live=true')).body.data as Row[];
  const remainingRows = (await call('GET', `/api/rows?sort=at&limit=200&live=true&after=${next}`)).body.data as Row[];
  expect(idsOf(remainingRows)).toEqual(idsOf(filtered).filter((id) => all.indexOf(id) >= 30));
});

test('cursors also work on lists filtered by owner', async () => {
  for (let i = 0; i < 12; i++) {
    await app.service('own').create({ name: `n${i % 3}`, author: i % 2 === 0 ? ann.id : admin.id });
  }
  for (const sort of ['', 'sort=name&', 'sort=-name,createdAt&']) {
    expect((await walk(ann.call, 'owns', `${sort}limit=4`)).found).toHaveLength(6);
    expect((await walk(admin.call, 'owns', `${sort}limit=4`)).found).toHaveLength(12);
  }
});

test('a service lists by cursor as a user and as the system', async () => {
  for (const as of [undefined, { user: { id: ann.id, roles: ['user'] } }]) {
    const seen: string[] = [];
    let next: string | null | undefined = (await rows.list({ limit: 50, sort: 'text' }, as)).meta.next;
    let data = (await rows.list({ limit: 50, sort: 'text' }, as)).data;
    for (;;) {
      seen.push(...data.map((record) => record.id));
      if (next === null || next === undefined) break;
      const page: { data: typeof data; meta: { next: string | null } } = await rows.list(
        { limit: 50, sort: 'text', after: next },
        as,
      );
      ({ data } = page);
      ({ next } = page.meta);
    }
    expect([seen.length, new Set(seen).size]).toEqual([COUNT, COUNT]);
  }
  const stretch = await rows.list({ count: 'none', limit: 5 });
  expect(stretch.meta).toEqual({ limit: 5, next: expect.any(String) });
});

test('cursors work without timestamps, and with default orders by fields not sortable, not scalar or not in the response', async () => {
  for (let i = 0; i < 20; i++) {
    await app.service('bare').create({ name: 'same' });
    const some = i % 4 === 0 ? {} : { tags: i % 2 === 0 ? [] : [String(i % 3), 'x'] };
    await app.service('listed').create(some);
    const data = [undefined, { a: i % 2 }, [i % 3], 'text', null][i % 5];
    await app
      .service('shaped')
      .create({ ...(data === undefined ? {} : { data }), text: `${'t'.repeat(9000)}${i % 2}` });
    await app.service('ranked').create({ ...(i % 3 === 0 ? {} : { rank: i % 2 }), name: `n${i}`, room: 'red' });
  }
  for (const path of ['bares', 'listeds', 'shapeds', 'rankeds']) {
    const all = (await call('GET', `/api/${path}?limit=200`)).body.data;
    const { found, pages } = await walk(call, path, 'limit=3');
    expect([path, pages, idsOf(found)]).toEqual([path, 7, idsOf(all)]);
    expect((await walk(call, path, 'limit=3&count=none')).found).toEqual(found);
  }
});

test('a cursor of a default order used by another viewer returns only records that this viewer may list', async () => {
  for (const rank of [41_414, 42_424, 43_434]) await app.service('ranked').create({ name: 'x', room: 'green', rank });
  const green = { 'x-room': 'green' };
  const { meta } = (await call('GET', '/api/rankeds?limit=1', undefined, green)).body;
  expect((await call('GET', `/api/rankeds?after=${meta.next}`, undefined, green)).body.data).toHaveLength(2);
  const elsewhere = await call('GET', `/api/rankeds?after=${meta.next}`, undefined, { 'x-room': 'red' });
  expect(elsewhere.body.data.map((one: Row) => one.room)).not.toContain('green');
});

test('a cursor that contains the id of its record is valid only if the viewer may list that record', async () => {
  const green = { 'x-room': 'green' };
  for (const tag of ['a', 'b', 'c']) await app.service('listed').create({ tags: [tag], room: 'green' });
  const { data, meta } = (await call('GET', '/api/listeds?limit=1', undefined, green)).body;
  expect(JSON.parse(Buffer.from(meta.next, 'base64url').subarray(9).toString())).toBe(data[0].id);
  expect((await call('GET', `/api/listeds?after=${meta.next}`, undefined, green)).body.data).toHaveLength(2);
  const { status, body } = await call('GET', `/api/listeds?after=${meta.next}`, undefined, { 'x-room': 'red' });
  expect([status, body.error.message]).toEqual([400, expect.stringMatching(/"after" .*no longer exists/)]);
});

test('a cursor that refers to a record for its position is refused once the record is deleted', async () => {
  const { data, meta } = (await call('GET', '/api/listeds?limit=2')).body;
  await app.service('listed').delete(data[1].id);
  const { status, body } = await call('GET', `/api/listeds?limit=2&after=${meta.next}`);
  expect([status, body.error.message]).toEqual([400, expect.stringMatching(/"after" .*no longer exists/)]);
});

test('a system list sorted by a restricted field puts no values into its cursor, since clients may receive the cursor', async () => {
  await rows.create({ salary: 987_654, int: 1 });
  const { data, meta } = await rows.list({ sort: 'salary', limit: 1 });
  expect(data[0]!.salary).toBe(987_654);
  expect(Buffer.from(meta.next!, 'base64url').toString('latin1')).not.toContain('987654');
  const mine = (await admin.call('GET', '/api/rows?sort=-salary&limit=1')).body.meta.next;
  for (const as of [call, ann.call]) {
    const { status, body } = await as('GET', `/api/rows?sort=-salary&after=${mine}`);
    expect([status, body.error.message]).toEqual([400, expect.stringContaining('Cannot sort by "salary"')]);
    expect((await as('GET', `/api/rows?sort=-int&after=${mine}`)).status).toBe(400);
  }
});

const compiled = compileResources([row], 'reject')[0]!;
const intSort = [
  { field: 'int', column: 'int', descending: false },
  { field: 'id', column: 'id', descending: false },
];
const forged = (record: Record<string, unknown>, sort = intSort) =>
  createCursorAfter(compiled, { sort, cursorCarriesValues: true }, record as never);
const valid = forged({ int: 1, id: ids[0] });

test('a well-formed forged cursor is accepted: it contains nothing that the viewer could not request', async () => {
  expect((await call('GET', `/api/rows?sort=int&after=${valid}`)).status).toBe(200);
});

test.each<[string, string]>([
  ['empty', ''],
  ['garbage', 'garbage'],
  ['not base64url', 'a+b/c='],
  ['padded', `${valid}=`],
  ['too long', 'A'.repeat(20_000)],
  ['truncated', valid.slice(0, -3)],
  ['with additional characters', `${valid}AAAA`],
  ['with changed content', valid.slice(0, -6) + (valid.at(-6) === 'A' ? 'B' : 'A') + valid.slice(-5)],
  ['with a changed signature', (valid[3] === 'A' ? 'B' : 'A') + valid.slice(1)],
  ['an old page number', '2'],
  ['JSON', encodeURIComponent('[1,"000000000000000000000000"]')],
  ['NUL', '%00'],
  ['SQL', encodeURIComponent("'; select pg_sleep(10)--")],
  ['of another order', forged({ int: 1, id: ids[0] }, [{ ...intSort[0]!, descending: true }, intSort[1]!])],
  ['with a text for a number', forged({ int: '1', id: ids[0] })],
  ['with a fraction for an integer', forged({ int: 1.5, id: ids[0] })],
  ['with a number beyond safe integers', forged({ int: 2 ** 60, id: ids[0] })],
  ['with a list', forged({ int: [1], id: ids[0] })],
  ['with an object', forged({ int: { $gt: 0 }, id: ids[0] })],
  ['with a boolean', forged({ int: true, id: ids[0] })],
  ['without an id', forged({ int: 1 })],
  ['with a number for an id', forged({ int: 1, id: 5 })],
  ['with NUL in its id', forged({ int: 1, id: '\u0000' })],
  ['with a lone surrogate in its id', forged({ int: 1, id: '\ud800' })],
])('an invalid cursor (%s) responds 400 naming "after"', async (_, cursor) => {
  const { status, body } = await call('GET', `/api/rows?sort=int&after=${cursor}`);
  expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
  expect(body.error.message).toContain('"after"');
});

test('cursors of another resource, given twice, or combined with a page number are refused', async () => {
  const other = (await call('GET', '/api/bares?limit=1')).body.meta.next;
  for (const query of [`after=${other}`, `sort=int&after=${valid}&after=${valid}`, `sort=int&after=${valid}&page=2`]) {
    const { status, body } = await call('GET', `/api/rows?${query}`);
    expect([status, body.error.message]).toEqual([400, expect.stringContaining('"after"')]);
  }
  expect((await call('GET', `/api/rows/${ids[0]}?after=${valid}`)).status).not.toBe(200);
  await expect(rows.list({ sort: 'int', after: 'x'.repeat(50_000) })).rejects.toMatchObject({ status: 400 });
});

test.each(['count=', 'count=all', 'count=true', 'count=none&count=none', 'count[eq]=none', 'count=0'])(
  '?%s responds 400',
  async (query) => expect((await call('GET', `/api/rows?${query}`)).status).toBe(400),
);

test('a filterable field named count is filtered by its name', async () => {
  await app.service('counted').create({ count: 3 });
  expect((await call('GET', '/api/counteds?count=3')).body.meta.total).toBe(1);
  expect((await call('GET', '/api/counteds?count=4')).body.meta.total).toBe(0);
  expect((await call('GET', '/api/counteds?count=none')).status).toBe(400);
});
