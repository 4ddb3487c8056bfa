import { expect, test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { defineResource, defineUser, f, recordShape } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';

// The types of the client promise what these tests observe: see src/client/schema/record.ts.
const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
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
const { app, url } = await startTestApp({ resources: [defineUser(), author, book, draft] });
const client = createClient<typeof app>({ url });

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
