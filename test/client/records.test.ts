import { expect, test } from 'vitest';
import { ApiError, createClient } from '../../packages/client/src/index.ts';
import { defineResource, defineUser, f, recordShape, softDelete } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;

const post = defineResource('blog-post', {
  fields: {
    title: f.string().required().max(200).filterable().sortable().searchable(),
    slug: f.string().unique(),
    status: f.enum(['draft', 'published']).default('draft').filterable().aggregatable(),
    views: f.integer().default(0).filterable().sortable().aggregatable(),
    due: f.date().filterable(),
    author: f.ref('user').owner().filterable(),
  },
  softDelete: true,
  aggregates: { timestamps: ['createdAt'] },
  policies: open,
  routes: (route) => [
    route.post('/:id/publish', { policy: 'public' }, ({ doc, service }) =>
      service('blog-post').update(doc.id, { status: 'published' }),
    ),
  ],
});

const note = defineResource('note', {
  fields: { text: f.string().filterable() },
  timestamps: false,
  path: '/desk/notes',
  policies: open,
});

const author = defineResource('author', {
  fields: { name: f.string().required().filterable().sortable(), editor: f.ref('author').populate() },
  relations: { books: f.reverse('book', 'author', { limit: 1 }), drafts: f.reverse('draft', 'author') },
  policies: open,
});
const book = defineResource('book', {
  fields: {
    title: f.string().required(),
    state: f.enum(['new', 'old']).default('new').filterable(),
    author: f.ref('author').filterable().populate(),
    others: f.array(f.ref('author')).filterable(),
  },
  policies: open,
  routes: (route) => [
    route.get('/:id/with-author', { policy: 'public', output: recordShape('book') }, ({ doc }) => doc),
    route.get('/all', { policy: 'public', output: recordShape('book').array() }, ({ service }) =>
      service('book')
        .list()
        .then(({ data }) => data),
    ),
  ],
});
const draft = defineResource('draft', {
  fields: { author: f.ref('author').filterable() },
  policies: { ...open, list: 'authenticated' },
});

const { app, url } = await startTestApp({
  resources: [defineUser(), post, note, author, book, draft],
  extensions: [softDelete()],
});
const client = createClient<typeof app>({ url });
const posts = client.blogPosts;
/** For requests that the types refuse. */
const untyped = createClient({ url });

test('a record is created, read, changed and deleted', async () => {
  const created = await posts.create({ title: 'Bells' });
  expect(created).toMatchObject({ title: 'Bells', status: 'draft' });
  const id = created.id as string;
  expect(await posts.get(id)).toEqual(created);
  expect(await posts.get(id, { fields: ['title'] })).toEqual({ id, title: 'Bells' });
  expect(await posts.update(id, { views: 3 })).toMatchObject({ title: 'Bells', views: 3 });
  expect(await posts.delete(id)).toBeUndefined();
  await expect(posts.get(id)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' });
  expect(await posts.restore(id)).toMatchObject({ id, views: 3 });
});

test('an error has the status, the code, the details and the id of the request', async () => {
  const error = await posts.create({ title: 'x'.repeat(201) }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({
    status: 422,
    code: 'VALIDATION_ERROR',
    message: 'The request is invalid',
    details: { title: 'Must be at most 200 characters' },
    requestId: expect.stringMatching(/./),
  });
});

test('a write with ifMatch fails if the record has changed since it was read, with and without timestamps', async () => {
  for (const [resource, input, change] of [
    [untyped.blogPosts!, { title: 'First' }, { title: 'Second' }],
    [untyped.resource('/desk/notes'), { text: 'First' }, { text: 'Second' }],
  ] as const) {
    const first = await resource.create(input);
    const id = first.id as string;
    const second = await resource.update(id, change, { ifMatch: first });
    await expect(resource.update(id, input, { ifMatch: first })).rejects.toMatchObject({ status: 412 });
    await expect(resource.delete(id, { ifMatch: first })).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
    const operation = { op: 'delete', id, ifMatch: first } as const;
    expect(await resource.batch([operation], { mode: 'perItem' })).toMatchObject([{ ok: false, status: 412 }]);
    await resource.delete(id, { ifMatch: second });
  }
});

test('filters with operators, dates, lists and missing values find the records that they describe', async () => {
  const titles = async (where: object) => {
    const { data } = await posts.list({ where: { title: { in: ['F1', 'F2', 'F3'] }, ...where }, sort: ['title'] });
    return data.map(({ title }) => title);
  };
  const due = new Date('2026-05-01T10:00:00Z');
  await posts.batch([
    { op: 'create', data: { title: 'F1', views: 1, due } },
    { op: 'create', data: { title: 'F2', views: 5, status: 'published' } },
    { op: 'create', data: { title: 'F3', views: 9 } },
  ]);
  expect(await titles({ views: { gte: 5 } })).toEqual(['F2', 'F3']);
  expect(await titles({ views: { gt: 1, lt: 9 } })).toEqual(['F2']);
  expect(await titles({ status: ['draft'] })).toEqual(['F1', 'F3']);
  expect(await titles({ due: { lte: due } })).toEqual(['F1']);
  expect(await titles({ due: null })).toEqual(['F2', 'F3']);
  expect(await titles({ due: { ne: null } })).toEqual(['F1']);
  await expect(titles({ status: { in: ['a,b', 'c'] } })).rejects.toThrow('must not be empty or contain a comma');
});

test('pages follow each other, and an iterator loads no page that it does not need', async () => {
  const numbers = Array.from({ length: 7 }, (_, i) => `P${i}`);
  await posts.batch(numbers.map((title) => ({ op: 'create', data: { title } })));
  let requests = 0;
  const countingFetch: typeof fetch = (...args) => {
    requests += 1;
    return fetch(...args);
  };
  const counting = createClient<typeof app>({ url, fetch: countingFetch }).blogPosts;
  const query = { where: { title: { in: numbers } }, sort: 'title', limit: 3 } as const;
  const first = await counting.list(query);
  expect(first.meta).toMatchObject({ total: 7, page: 1, pages: 3 });
  const second = await first.next();
  const third = await second?.next();
  expect([first, second, third].map((page) => page?.data.map(({ title }) => title))).toEqual([
    ['P0', 'P1', 'P2'],
    ['P3', 'P4', 'P5'],
    ['P6'],
  ]);
  expect(await third?.next()).toBeUndefined();
  requests = 0;
  const seen: unknown[] = [];
  for await (const { title } of counting.each(query)) {
    seen.push(title);
    if (seen.length === 4) break;
  }
  expect([seen, requests]).toEqual([['P0', 'P1', 'P2', 'P3'], 2]);
  expect(await counting.first(query)).toMatchObject({ title: 'P0' });
  expect(await counting.first({ where: { title: 'none' } })).toBeUndefined();
});

test('a batch reports the result of each operation, and an upsert creates or updates', async () => {
  const results = await posts.batch(
    [
      { op: 'create', data: { title: 'B1' } },
      { op: 'create', data: {} as { title: string } },
    ],
    { mode: 'perItem' },
  );
  expect(results).toMatchObject([
    { ok: true, status: 201, data: { title: 'B1' } },
    { ok: false, status: 422, error: { code: 'VALIDATION_ERROR', details: { title: 'Is required' } } },
  ]);
  const created = await posts.upsert('slug', { slug: 'b2', title: 'B2' });
  expect(await posts.upsert('slug', { slug: 'b2', title: 'B3' })).toMatchObject({ id: created.id, title: 'B3' });
  await expect(untyped.blogPosts!.upsert('slug', { slug: 'b4' })).rejects.toMatchObject({
    details: { title: 'Is required' },
  });
});

test('aggregates group, count and sum', async () => {
  await posts.batch([2, 3].map((views) => ({ op: 'create', data: { title: 'A1', views } })));
  const { data, meta } = await posts.aggregate({
    group: ['status', { year: 'createdAt' }],
    count: true,
    sum: ['views'],
    where: { title: 'A1' },
    timeZone: 'Europe/Berlin',
  });
  expect(data).toEqual([
    { group: { status: 'draft', 'year(createdAt)': expect.any(String) }, count: 2, sum: { views: 5 } },
  ]);
  expect(meta).toEqual({ groups: 1, truncated: false });
});

test('a custom route is called by its name, and its parameters cannot change the path', async () => {
  const { id } = (await posts.create({ title: 'C1' })) as { id: string };
  expect(await posts.call('POST /:id/publish', { params: { id } })).toMatchObject({ id, status: 'published' });
  for (const bad of ['', '.', '..'])
    await expect(posts.call('POST /:id/publish', { params: { id: bad } })).rejects.toThrow('must be a text');
  await expect(posts.get('..')).rejects.toThrow('The id must be a text');
  await expect(posts.get('a/../b')).rejects.toMatchObject({ status: 404 });
  await expect(untyped.blogPosts!.call('publish')).rejects.toThrow('must be a method and a path');
});

test('any route can be requested', async () => {
  const { data } = await client.request<{ openapi: string }>({ method: 'GET', path: '/openapi.json' });
  expect(data.openapi).toMatch(/^3\./);
});

// The types of the client promise what these tests observe: see packages/client/src/schema/record.ts.
const editor = await client.authors.create({ name: 'Bob' });
const ada = await client.authors.create({ name: 'Ada', editor: editor.id });
const missing = '0123456789abcdef01234567';
const made = await client.books.create({ title: 'x', author: ada.id, others: [ada.id, missing] });
await client.books.create({ title: 'y', author: ada.id });

test('a populated reference is a record in the responses of every method, and an id inside an included record', async () => {
  const results = [
    made,
    await client.books.get(made.id),
    await client.books.update(made.id, { state: 'old' }),
    await client.books.first({ where: { state: 'old' } }),
    await client.books.call('GET /:id/with-author', { params: { id: made.id } }),
    (await client.books.call('GET /all')).find(({ id }) => id === made.id),
  ];
  for (const result of results) expect(result?.author).toMatchObject({ id: ada.id, name: 'Ada', editor: editor.id });
  const selected = await client.books.get(made.id, { fields: ['title'] });
  expect(Object.keys(selected).sort()).toEqual(['id', 'title']);
  const both = await client.books.get(made.id, { fields: ['title', 'author'] });
  expect(both.author).toMatchObject({ name: 'Ada' });
});

test('an included reference is a record, or its id if there is no such record', async () => {
  const { others } = await client.books.get(made.id, { include: ['others'], fields: ['title'] });
  expect(others).toEqual([expect.objectContaining({ name: 'Ada' }), missing]);
});

test('an included relation has its records and their number, unless the viewer may not list them', async () => {
  const found = await client.authors.get(ada.id, {
    include: ['books', 'booksCount', 'drafts', 'draftsCount'],
    fields: ['name'],
  });
  expect(found.books).toMatchObject({ data: [{ title: 'y' }], meta: { limit: 1, more: true } });
  expect(found.booksCount).toBe(2);
  expect(Object.keys(found).sort()).toEqual(['books', 'booksCount', 'id', 'name']);
});

test('filters and sorts follow the paths that their types offer', async () => {
  const filtered = await client.books.list({
    where: { 'author.name': 'Ada', 'others.name': ['Ada'], 'author.books.state': 'new' },
    sort: ['-author.name', 'createdAt'],
  });
  expect(filtered.data.map(({ title }) => title)).toEqual(['x']);
  expect((await client.authors.list({ where: { books: { exists: false } } })).data.map(({ name }) => name)).toEqual([
    'Bob',
  ]);
});
