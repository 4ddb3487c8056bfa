import { afterAll, expect, test } from 'vitest';
import { createApp, defineResource, f } from '../../../src/index.ts';
import { type Client, createClient, startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const checked = defineResource('checked', {
  fields: {
    from: f.integer().check((value, record) => value <= (record.to as number) || 'Too late'),
    to: f.integer().default(1000),
  },
  policies: open,
  routes: (route) => [
    route.post('/:id/within', { policy: 'public' }, ({ params, transaction }) =>
      transaction((tx) => tx.service('checked').update(params.id!, { from: 1 })),
    ),
  ],
});
const counted = defineResource('counted', {
  timestamps: false,
  fields: { name: f.string(), changes: f.integer().readOnly().default(0) },
  policies: open,
  hooks: {
    async beforeUpdate(changes, record, { service }) {
      // Widens the window for concurrent changes.
      await service('checked').count();
      return { ...changes, changes: record.changes! + 1 };
    },
  },
});
const ruled = defineResource('ruled', {
  fields: { text: f.string().writableBy(({ doc }) => doc.text !== 'closed') },
  policies: { ...open, delete: ({ doc }) => doc.text !== 'closed' },
});
const wound = defineResource('wound', {
  fields: { text: f.string() },
  policies: open,
  hooks: {
    async beforeUpdate(changes, record, { service }) {
      if (changes.text === 'outer') await service('wound').update(record.id, { text: 'inner' });
    },
  },
});

const resources = [checked, counted, ruled, wound] as const;
const { app, call, env } = await startTestApp({ resources });
const second = createApp({ resources }, env);
afterAll(() => second.close());
const callSecond = createClient((await second.start({ port: 0, roles: ['web'] })).url);

const FORTY = Array.from({ length: 40 }, (_, n) => n);
const statusesOf = async (calls: ReturnType<Client>[]) => {
  const statuses = (await Promise.all(calls)).map(({ status }) => String(status));
  return Object.fromEntries(Object.entries(Object.groupBy(statuses, String)).map(([key, all]) => [key, all!.length]));
};

test.each([
  ['a check over two fields', 'checkeds', {}, (n: number) => ({ from: n })],
  ['a writableBy function', 'ruleds', { text: 'x' }, (n: number) => ({ text: `${n}` })],
])('40 concurrent valid changes of one record all succeed: %s', async (_what, path, values, change) => {
  for (let round = 0; round < 3; round++) {
    const { body } = await call('POST', `/api/${path}`, values);
    const at = `/api/${path}/${body.data.id}`;
    expect(await statusesOf(FORTY.map((n) => call('PATCH', at, change(n))))).toEqual({ 200: 40 });
  }
});

test('a counting hook sees each of 40 concurrent changes in two processes', async () => {
  const { id } = await app.service('counted').create({ name: 'x' });
  const calls = FORTY.map((n) => (n % 2 === 0 ? call : callSecond)('PATCH', `/api/counteds/${id}`, { name: `${n}` }));
  expect(await statusesOf(calls)).toEqual({ 200: 40 });
  expect((await app.service('counted').read(id)).changes).toBe(40);
});

test('a delete among 40 concurrent changes succeeds, and later changes find no record', async () => {
  const { id } = await app.service('ruled').create({ text: 'x' });
  const at = `/api/ruleds/${id}`;
  const changes = FORTY.map((n) => call('PATCH', at, { text: `${n}` }));
  const removal = call('DELETE', at);
  const statuses = await statusesOf([...changes, removal]);
  expect(statuses['204']).toBe(1);
  expect((statuses['200'] ?? 0) + (statuses['404'] ?? 0)).toBe(40);
});

test('20 concurrent transactions that change one record all succeed', async () => {
  const { id } = await app.service('checked').create({});
  const calls = FORTY.slice(20).map(() => call('POST', `/api/checkeds/${id}/within`));
  expect(await statusesOf(calls)).toEqual({ 200: 20 });
});

test('a hook that changes the record it was called for gets a conflict, and does not block other requests for long', async () => {
  const { id } = await app.service('wound').create({ text: 'x' });
  const at = `/api/wounds/${id}`;
  const response = await call('PATCH', at, { text: 'outer' });
  expect([response.status, response.body.error.code]).toEqual([409, 'CONFLICT']);
  expect((await call('PATCH', at, { text: 'after' })).status).toBe(200);
});
