import pg from 'pg';
import { expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public' } as const;
const book = defineResource('book', {
  fields: { title: f.string().searchable().sortable(), number: f.integer().sortable() },
  policies: open,
});
const note = defineResource('note', { fields: { text: f.string().searchable() }, policies: open });
const { app, call, env } = await startTestApp({
  resources: [defineUser(), book, note],
  settings: { pagination: { maxLimit: 1000 } },
});
await app.service('note').create({ text: 'quick' });
for (let number = 0; number < 30; number++) await app.service('book').create({ title: `Book ${number % 3}`, number });

test('a search that takes too long responds 503 with advice, and does not block lists, reads and writes', async () => {
  // A query on a locked table takes as long as the test needs.
  const locker = new pg.Client({ connectionString: env.DATABASE_URL });
  await locker.connect();
  await locker.query('begin');
  await locker.query('lock table books in access exclusive mode');
  const searches = Array.from({ length: 6 }, () => call('GET', '/api/books?q=a'));
  let ended = 0;
  for (const search of searches) void search.then(() => ended++);
  let rounds = 0;
  while (ended === 0 && rounds < 20) {
    const id = (await app.service('note').create({ text: `note ${rounds}` })).id;
    expect((await call('GET', `/api/notes/${id}`)).status).toBe(200);
    expect((await call('GET', '/api/notes?limit=1')).body.meta.total).toBe(rounds + 2);
    if (ended === 0) rounds += 1;
  }
  // Holds on any machine: a round that waited for the searches would have ended after them.
  expect(rounds).toBeGreaterThan(0);
  const responses = await Promise.all(searches);
  await locker.query('rollback');
  await locker.end();
  for (const { status, body, headers } of responses) {
    expect([status, body.error.code, headers.get('retry-after')]).toEqual([503, 'UNAVAILABLE', '5']);
    expect(JSON.stringify(body)).not.toMatch(/statement|timeout|select|lock/i);
  }
  const messages = responses.map(({ body }) => body.error.message);
  expect(messages).toContainEqual(expect.stringMatching(/takes too long to read; add a filter, search for a longer/));
  expect((await call('GET', '/api/books?q=book')).body.meta.total).toBe(30);
});

test('the advice for a slow list is specific to its query', async () => {
  const locker = new pg.Client({ connectionString: env.DATABASE_URL });
  await locker.connect();
  await locker.query('begin');
  await locker.query('lock table books in access exclusive mode');
  const queries = ['page=1000&sort=-updatedAt', 'sort=updatedAt&count=none'];
  const responses = await Promise.all(queries.map((query) => call('GET', `/api/books?${query}`)));
  await locker.query('rollback');
  await locker.end();
  const sorts = 'sort by title, number, createdAt';
  expect(responses.map(({ body }) => body.error.message)).toEqual([
    `This list takes too long to read; add a filter, continue with "after" instead of a high "page", ${sorts} or limit the total with count=capped or count=none`,
    `This list takes too long to read; add a filter or ${sorts}`,
  ]);
});

test('a page far past the end is not queried, because the count shows that it is empty', async () => {
  const sent = vi.spyOn(pg.Client.prototype, 'query');
  const listBooks = async (query: string) => {
    sent.mockClear();
    const { body } = await call('GET', `/api/books?${query}`);
    // Includes statements of the relay, some of which are plain texts.
    const texts = sent.mock.calls.map(([statement]) => (statement as unknown as { text?: string }).text);
    return { body, texts: texts.filter((text) => text?.includes('from "books"')) };
  };
  const far = await listBooks('page=1000000000&limit=1000');
  expect([far.body.data, far.body.meta]).toEqual([[], { total: 30, page: 1e9, limit: 1000, pages: 1 }]);
  expect(far.texts).toEqual([expect.stringContaining('count(*)')]);
  expect((await listBooks('page=3&limit=20')).texts).toHaveLength(2);
  expect((await listBooks('count=none')).texts).toEqual([expect.not.stringContaining('count(*)')]);
  sent.mockRestore();
});
