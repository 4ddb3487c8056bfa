// What requests send to Postgres, which does not depend on the machine. A change that adds a statement or a write must say what it buys.
import { afterAll, expect, test } from 'vitest';
import { createWireTap } from '../../bench/measure/wire-tap.ts';
import { defineResource, defineUser, f } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';

const article = defineResource('article', {
  fields: {
    title: f.string().required().max(200).sortable(),
    body: f.text().max(20_000),
    // Its pages may have any size.
    notes: f.text(),
    category: f.string().max(40).filterable(),
    author: f.ref('user').owner(),
  },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated', update: 'owner', delete: 'owner' },
});
const short = defineResource('short', {
  fields: { title: f.string().max(200), author: f.ref('user').owner() },
  policies: { list: 'authenticated' },
});

const tap = await createWireTap(process.env.TEST_DATABASE_URL!);
afterAll(() => tap.close());
const { person } = await startTestApp(
  { resources: [defineUser(), article, short] },
  { env: ({ DATABASE_URL }) => ({ DATABASE_URL: new URL(new URL(DATABASE_URL).pathname, tap.url).href }) },
);
const { call } = await person('Ada');
const { body: created } = await call('POST', '/api/articles', { title: 'Bells', category: 'towers' });
const item = `/api/articles/${created.data.id}`;
let changes = 0;

test.each<[what: string, statements: number, writes: number, request: () => Promise<{ status: number }>]>([
  ['a read', 2, 2, () => call('GET', item)],
  ['a list with its total', 3, 2, () => call('GET', '/api/articles?category=towers')],
  ['a list without a total', 2, 2, () => call('GET', '/api/articles?category=towers&count=none')],
  ['a list whose declaration keeps it small', 3, 2, () => call('GET', '/api/shorts')],
  ['a list with a reference', 4, 3, () => call('GET', '/api/articles?include=author')],
  ['a create', 2, 2, () => call('POST', '/api/articles', { title: 'Bells' })],
  ['an update', 2, 2, () => call('PATCH', item, { title: `Bells ${changes++}` })],
  ['an update without a change', 2, 2, () => call('PATCH', item, { category: 'towers' })],
])('%s sends %i statements in %i writes, with the look-up of the session', async (_, statements, writes, request) => {
  const counts = [];
  // The first requests open connections and prepare statements.
  for (let run = 0; run < 9; run++) {
    tap.reset();
    expect((await request()).status).toBeLessThan(300);
    if (run >= 3) counts.push({ statements: tap.counts().statements, writes: tap.counts().writes });
  }
  expect(counts).toContainEqual({ statements, writes });
  // Sweeps and the renewal of the session may add to one of them.
  expect(counts.every((one) => one.statements >= statements)).toBe(true);
});
