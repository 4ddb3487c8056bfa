// Batches that are malformed, contradictory or interrupted.
import { request } from 'node:http';
import { expect, test } from 'vitest';
import { ApiError, defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const policies = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const part = defineResource('part', {
  fields: {
    sku: f.string().unique().filterable().max(100),
    stock: f.integer().default(0),
    text: f.text().max(3_000_000),
  },
  policies,
});
const log = defineResource('log', { fields: { text: f.string().filterable() }, policies });
const hooked = defineResource('hooked', {
  fields: { title: f.string().filterable() },
  policies,
  hooks: {
    async beforeCreate({ title }, { service }) {
      await service('log').create({ text: `hook ${title}` });
      if (title === 'throws') throw new Error('a bug in the hook');
      if (title === 'refuses') throw new ApiError('CONFLICT', 'Refused by the hook');
      if (title === 'opens')
        await app.transaction(async (tx) => void (await tx.service('log').create({ text: 'own' })));
      if (title === 'batches') await service('log').createMany([{ text: 'many' }, { text: 'many' }]);
    },
  },
});
const { app, call, url } = await startTestApp({ resources: [defineUser(), part, log, hooked] });
const parts = app.service(part);
const logs = app.service(log);
const send = (path: string, operations: readonly unknown[], mode = 'perItem') =>
  call('POST', `/api/${path}/batch`, { mode, operations });
const create = (data: unknown) => ({ op: 'create', data });
const statusesOf = ({ body }: Awaited<ReturnType<typeof call>>) =>
  body.data.map(({ status }: { status: number }) => status);

test('1,000 operations on one record are performed in order, and one more is refused', async () => {
  const { id } = await parts.create({ sku: 'same' });
  const operations = Array.from({ length: 1000 }, (_, i) => ({ op: 'update', id, data: { stock: i } }));
  for (const mode of ['perItem', 'atomic']) {
    const response = await send('parts', operations, mode);
    expect(new Set(statusesOf(response))).toEqual(new Set([200]));
    expect(response.body.data.map(({ data }: { data: { stock: number } }) => data.stock)).toEqual(
      operations.map(({ data }) => data.stock),
    );
  }
  expect((await send('parts', [...operations, operations[0]])).status).toBe(422);
});

test('upserts of one key in one batch make one record, whatever stands between them', async () => {
  const upsert = (stock: number) => ({ op: 'upsert', by: 'sku', data: { sku: 'key', stock } });
  const response = await send('parts', [upsert(1), upsert(2), create({ sku: 'between' }), upsert(3)], 'atomic');
  expect(statusesOf(response)).toEqual([201, 200, 201, 200]);
  expect((await parts.list({ sku: 'key' })).data).toMatchObject([{ stock: 3 }]);
  const { id } = response.body.data[0].data;
  expect(statusesOf(await send('parts', [{ op: 'delete', id }, upsert(4), { op: 'delete', id }, upsert(5)]))).toEqual([
    204, 201, 404, 200,
  ]);
});

test('a version matches only the operation that follows it, and an update of the same batch makes it stale', async () => {
  const { id, updatedAt } = await parts.create({ sku: 'versioned' });
  const update = (ifMatch?: unknown) => ({
    op: 'update',
    id,
    data: { stock: 1 },
    ...(ifMatch !== undefined && { ifMatch }),
  });
  const operations = [update(updatedAt), update(updatedAt), update('*'), update('nonsense'), update(5), update()];
  expect(statusesOf(await send('parts', operations))).toEqual([200, 412, 200, 400, 400, 200]);
  const atomic = await send('parts', [update('*'), update(updatedAt)], 'atomic');
  expect([atomic.status, Object.keys(atomic.body.error.details ?? {})]).toEqual([412, ['operations.1']]);
});

test('malformed operations fail by themselves, with an error that names the field', async () => {
  const operations = [
    null,
    [],
    'create',
    { op: '__proto__', data: {} },
    { op: 'create', data: null },
    { op: 'create', data: [] },
    { op: 'create', data: { sku: 'ok', nope: 1 } },
    { op: 'create', data: {}, extra: 1 },
    { op: 'update', id: { $gt: '' }, data: {} },
    { op: 'update', id: 'x'.repeat(5000), data: {} },
    { op: 'delete', id: '\u0000' },
    { op: 'upsert', by: 'stock', data: { stock: 1 } },
    { op: 'upsert', by: 'sku', data: { sku: '' } },
    { op: 'upsert', by: 'sku', data: { sku: 'a\u0000' } },
    create({ sku: 'fine' }),
  ];
  const response = await send('parts', operations);
  const statuses = statusesOf(response);
  expect(statuses.at(-1)).toBe(201);
  for (const status of statuses.slice(0, -1)) expect([400, 404, 422]).toContain(status);
  const atomic = await send('parts', operations, 'atomic');
  expect([400, 404, 422]).toContain(atomic.status);
  expect(await parts.count({ sku: { in: ['ok', 'fine'] } })).toBe(1);
});

test('a batch with large records is stored or refused as a whole, never with a 500', async () => {
  const text = 'x'.repeat(2_500_000);
  const fits = await send('parts', [create({ sku: 'l1', text }), create({ sku: 'l2', text })], 'atomic');
  expect(fits.status).toBe(200);
  const beyond = await send(
    'parts',
    Array.from({ length: 4 }, () => create({ text })),
    'atomic',
  );
  expect(beyond.status).toBe(413);
  const { data } = await parts.list({ sku: { in: ['l1', 'l2'] } });
  // A small body that changes large records.
  const updates = Array.from({ length: 4 }, (_, i) => ({ op: 'update', id: data[i % 2]!.id, data: { stock: i } }));
  expect((await send('parts', updates, 'atomic')).status).toBe(413);
});

test('a hook that throws for one operation fails that one, and what it wrote is rolled back', async () => {
  const titles = ['a', 'throws', 'refuses', 'opens', 'batches', 'b'];
  const response = await send(
    'hookeds',
    titles.map((title) => create({ title })),
  );
  expect(statusesOf(response)).toEqual([201, 500, 409, 201, 201, 201]);
  expect(JSON.stringify(response.body)).not.toContain('a bug in the hook');
  const written = (await logs.list({ limit: 100 })).data.map(({ text }) => text).toSorted();
  expect(written).toEqual(['hook a', 'hook b', 'hook batches', 'hook opens', 'many', 'many', 'own']);
  const atomic = await send('hookeds', [create({ title: 'c' }), create({ title: 'refuses' })], 'atomic');
  expect([atomic.status, atomic.body.error.details]).toEqual([409, { 'operations.1': 'Refused by the hook' }]);
  expect(await logs.count({ text: 'hook c' })).toBe(0);
});

test('a client that disconnects leaves all records of an atomic batch or none, and the server keeps serving', async () => {
  const operations = Array.from({ length: 600 }, (_, i) => create({ sku: `abort-${i}` }));
  const body = JSON.stringify({ mode: 'atomic', operations });
  for (let round = 0; round < 3; round++) {
    await new Promise<void>((resolve) => {
      const sent = request(`${url}/api/parts/batch`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
      });
      sent.on('error', () => undefined).on('close', resolve);
      sent.end(body, () => setImmediate(() => sent.destroy()));
    });
    const response = await send('parts', [create({ sku: `after-${round}` })]);
    expect(statusesOf(response)).toEqual([201]);
  }
  expect([0, 600]).toContain(
    await parts.count({ sku: { in: operations.map((one) => (one.data as { sku: string }).sku) } }),
  );
});
