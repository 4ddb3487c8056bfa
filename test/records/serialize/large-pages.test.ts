import pg from 'pg';
import { expect, test } from 'vitest';
import { defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public' } as const;
const sheet = defineResource('sheet', {
  fields: {
    kind: f.string().filterable(),
    place: f.integer().sortable(),
    text: f.text(),
    json: f.json(),
    list: f.array(f.text()),
    sealed: f.text().encrypted(),
  },
  policies: open,
});
// Without timestamps the version of a record comes from a system column of Postgres.
const plain = defineResource('plain', { fields: { text: f.text() }, policies: open, timestamps: false });
// Pages of this resource are small by its declaration, unless its rows are older than the declaration.
const card = defineResource('card', {
  fields: { place: f.integer().sortable(), text: f.text().max(700), tags: f.array(f.string().max(10)).max(5) },
  policies: open,
});
const note = defineResource('note', { fields: { text: f.text() }, policies: open, softDelete: true });

const PAGE_BYTES = 10_000;
const { app, call, env } = await startTestApp({
  resources: [defineUser(), sheet, plain, card, note],
  extensions: [softDelete()],
  settings: { http: { pageBytes: PAGE_BYTES } },
});

async function make(kind: string, count: number, values: object): Promise<string[]> {
  const ids: string[] = [];
  for (let place = 0; place < count; place++) {
    ids.push((await app.service('sheet').create({ kind, place, ...values })).id);
  }
  return ids;
}

/** Walks a list by cursor. */
async function walk(path: string): Promise<{ ids: string[]; sizes: number[]; pages: number }> {
  const [ids, sizes]: [string[], number[]] = [[], []];
  let next: string | null | undefined;
  do {
    const { status, body, headers } = await call('GET', `${path}${next === undefined ? '' : `&after=${next}`}`);
    expect(status).toBe(200);
    ids.push(...body.data.map(({ id }: { id: string }) => id));
    sizes.push(Number(headers.get('content-length')));
    next = body.meta.next ?? null;
  } while (next !== null);
  return { ids, sizes, pages: sizes.length };
}

test.each([
  ['letters', { text: 'x'.repeat(1500) }],
  ['control characters', { text: '\u0001'.repeat(300) }],
  ['quotes', { text: '"\\'.repeat(500) }],
  ['letters beyond ASCII', { text: 'ж'.repeat(800) }],
  ['JSON', { json: { deep: ['x'.repeat(1500)] } }],
  ['JSON that Postgres compresses', { json: { same: 'x'.repeat(7000) } }],
  ['an array', { list: Array(100).fill('fifteen letters') }],
  ['an encrypted field', { sealed: 'x'.repeat(1500) }],
])(
  'a page contains as many records as fit into its size limit, and its cursor continues after them: %s',
  async (kind, values) => {
    const ids = await make(kind, 20, values);
    for (const count of ['', '&count=none']) {
      const {
        ids: found,
        sizes,
        pages,
      } = await walk(`/api/sheets?limit=20&sort=place&kind=${encodeURIComponent(kind)}${count}`);
      expect(found).toEqual(ids);
      expect(pages).toBeGreaterThan(2);
      expect(Math.max(...sizes)).toBeLessThan(PAGE_BYTES + 2000);
    }
  },
);

test('a record larger than the size limit of a page is returned as a page of its own', async () => {
  const ids = await make('huge', 3, { text: 'x'.repeat(3 * PAGE_BYTES) });
  expect(await walk('/api/sheets?limit=3&sort=place&kind=huge')).toMatchObject({ ids, pages: 3 });
});

test('a truncated page has `truncated: true`, and keeps total, page, limit and pages', async () => {
  await make('cut', 12, { text: 'x'.repeat(3000) });
  const { body: first } = await call('GET', '/api/sheets?kind=cut&sort=place&limit=6');
  expect(first.data).toHaveLength(3);
  expect(first.meta).toEqual({ total: 12, page: 1, limit: 6, pages: 2, next: expect.any(String), truncated: true });
  const { body: second } = await call('GET', '/api/sheets?kind=cut&sort=place&limit=6&page=2');
  expect(second.data.map(({ place }: { place: number }) => place)).toEqual([6, 7, 8]);
  expect(second.meta).toMatchObject({ page: 2, truncated: true, next: expect.any(String) });
  const { body: behind } = await call('GET', `/api/sheets?kind=cut&sort=place&limit=6&after=${first.meta.next}`);
  expect(behind.data.map(({ place }: { place: number }) => place)).toEqual([3, 4, 5]);
  expect(behind.meta).toEqual({ limit: 6, next: expect.any(String), truncated: true });
});

test('a full page has no `truncated`, even if only the record after it does not fit', async () => {
  await make('whole', 4, { text: 'x'.repeat(3000) });
  const { body } = await call('GET', '/api/sheets?kind=whole&sort=place&limit=3&count=none');
  expect(body.data).toHaveLength(3);
  expect(body.meta).toEqual({ limit: 3, next: expect.any(String) });
});

test('lists of records without timestamps and of deleted records are truncated in the same way', async () => {
  const [plains, notes]: [string[], string[]] = [[], []];
  for (let i = 0; i < 5; i++) {
    plains.push((await app.service('plain').create({ text: 'x'.repeat(4000) })).id);
    notes.push((await app.service('note').create({ text: 'x'.repeat(4000) })).id);
  }
  expect((await walk('/api/plains?limit=5')).ids.toSorted()).toEqual(plains.toSorted());
  expect((await walk('/api/notes?limit=5')).ids.toSorted()).toEqual(notes.toSorted());
  expect((await call('GET', '/api/plains?limit=5')).body.data).toHaveLength(2);
});

test('pages are truncated in the same way if the declaration limits every field, also when rows are larger than it says', async () => {
  const ids: string[] = [];
  const cards = app.service('card');
  for (let place = 0; place < 20; place++)
    ids.push((await cards.create({ place, text: 'ж'.repeat(700), tags: ['a', 'b'] })).id);
  const before = await walk('/api/cards?limit=20&sort=place');
  expect(before.ids).toEqual(ids);
  expect(before.pages).toBeGreaterThan(2);
  const client = new pg.Client(env.DATABASE_URL);
  await client.connect();
  await client.query(`update cards set text = repeat('x', 200000)`);
  await client.end();
  for (let run = 0; run < 2; run++)
    expect(await walk('/api/cards?limit=20&sort=place')).toMatchObject({ ids, pages: 20 });
});

test('code receives as many records as it requests', async () => {
  await make('code', 12, { text: 'x'.repeat(3000) });
  expect((await app.service('sheet').list({ kind: 'code', limit: 12 })).data).toHaveLength(12);
});

test('the OpenAPI document describes the `truncated` property', async () => {
  await make('described', 20, { text: 'x'.repeat(1500) });
  const { meta } = (await call('GET', '/api/sheets?limit=20&kind=described')).body;
  const { ListMeta } = (await call('GET', '/api/openapi.json')).body.components.schemas;
  expect(ListMeta.properties.truncated).toMatchObject({ const: meta.truncated });
  expect(Object.keys(ListMeta.properties)).toEqual(expect.arrayContaining(Object.keys(meta)));
});
