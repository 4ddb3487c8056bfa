import { expect, test, vi } from 'vitest';
import { defineResource, defineUser, f, webhooks } from '../../../src/index.ts';
import { startReceiver } from '../../fakes/receiver.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public' } as const;
const tag = defineResource('tag', { fields: { label: f.string() }, policies: open });
const sheet = defineResource('sheet', {
  fields: { text: f.text(), json: f.json(), list: f.array(f.text()) },
  policies: open,
});
const folder = defineResource('folder', { fields: { cover: f.ref('sheet'), label: f.ref('tag') }, policies: open });
const post = defineResource('post', {
  fields: {
    title: f.string().filterable(),
    sheet: f.ref('sheet'),
    sheets: f.array(f.ref('sheet')),
    folders: f.array(f.ref('folder')),
  },
  policies: open,
});
const album = defineResource('album', {
  fields: { name: f.string(), sheets: f.array(f.ref('sheet')).populate(), cover: f.ref('sheet').populate() },
  policies: open,
});

const { app, call, person } = await startTestApp(
  {
    resources: [defineUser(), tag, sheet, folder, post, album],
    extensions: [webhooks()],
  },
  { roles: 'all' },
);
const make = async (name: 'tag' | 'sheet' | 'folder' | 'post', values: object) =>
  (await app.service(name).create(values as never)).id as string;

const KILO = 1024;
const expanded = (values: unknown) => (values as unknown[]).filter((value) => typeof value === 'object').length;
/** Lists posts. Returns them with their included records, and the size of the response. */
async function listed(query: string): Promise<{ data: Record<string, unknown>[]; size: number }> {
  const { status, body, headers } = await call('GET', `/api/posts?${query}`);
  expect(status).toBe(200);
  return { data: body.data, size: Number(headers.get('content-length')) };
}

test.each([
  ['text', { text: 'x'.repeat(100 * KILO) }],
  ['json', { json: { text: Array(KILO).fill('x'.repeat(98)) } }],
  ['items', { list: Array(KILO).fill('x'.repeat(97)) }],
])('a large record referenced 10,000 times is expanded until its copies fill 4 MB: %s', async (what, values) => {
  const big = await make('sheet', values);
  await make('post', { title: `same ${what}`, sheets: Array(10_000).fill(big) });
  const { data, size } = await listed(`title=same ${what}&include=sheets&fields=title`);
  expect(expanded(data[0]!.sheets)).toBeGreaterThanOrEqual(38);
  expect(expanded(data[0]!.sheets)).toBeLessThanOrEqual(42);
  expect(size).toBeLessThan(5 * KILO * KILO);
});

test('many large records are read and expanded only up to 4 MB', async () => {
  const sheets: string[] = [];
  for (let i = 0; i < 100; i++) sheets.push(await make('sheet', { text: `${i} `.repeat(30 * KILO) }));
  await make('post', { title: 'all different', sheets });
  const { data, size } = await listed('title=all different&include=sheets&fields=title');
  expect(expanded(data[0]!.sheets)).toBeGreaterThan(40);
  expect(expanded(data[0]!.sheets)).toBeLessThan(60);
  expect(size).toBeLessThan(5 * KILO * KILO);
});

test('copies of a record in single references count towards the limit', async () => {
  const big = await make('sheet', { text: 'x'.repeat(100 * KILO) });
  for (let i = 0; i < 60; i++) await make('post', { title: 'single', sheet: big });
  const { data } = await listed('title=single&include=sheet&fields=title&limit=100');
  expect(expanded(data.map((post) => post.sheet))).toBe(41);
});

test('a record referenced in many places includes its own references while all of them fit', async () => {
  const cover = await make('sheet', { text: 'x'.repeat(100 * KILO) });
  const label = await make('tag', { label: 'a' });
  const both = await make('folder', { cover, label });
  await make('post', { title: 'folders', folders: Array(1000).fill(both) });
  const { data } = await listed('title=folders&include=folders.cover,folders.label&fields=title');
  const [one] = data[0]!.folders as { cover: unknown; label: unknown }[];
  expect(one).toMatchObject({ cover, label: { label: 'a' } });
});

test('a single record is expanded whatever its size', async () => {
  const huge = await make('sheet', { text: 'x'.repeat(6 * KILO * KILO) });
  await make('post', { title: 'huge sheet', sheet: huge, sheets: [huge] });
  const { data } = await listed('title=huge sheet&include=sheet,sheets&fields=title');
  expect(data[0]!.sheet).toMatchObject({ id: huge });
  expect(data[0]!.sheets).toEqual([huge]);
});

test('the expansions of one record in a batch do not reduce those in the payloads of others', async () => {
  const big = await make('sheet', { text: 'x'.repeat(100 * KILO) });
  const receiver = await startReceiver();
  const ann = await person('Ann');
  await ann.call('POST', '/api/webhooks', { url: receiver.url, events: ['album.created'] });
  await app.transaction(async (tx) => {
    await tx.service('album').create({ name: 'hog', sheets: Array(1000).fill(big) });
    await tx.service('album').create({ name: 'other', cover: big });
  });
  await vi.waitUntil(() => receiver.requests.length === 2, { timeout: 60_000 });
  const sent = receiver.requests.map((one) => JSON.parse(one.body.toString()).data);
  expect(expanded(sent.find(({ name }) => name === 'hog').sheets)).toBe(41);
  expect(sent.find(({ name }) => name === 'other').cover).toMatchObject({ id: big });
  await receiver.close();
});
