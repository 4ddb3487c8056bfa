import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const product = defineResource('product', {
  fields: {
    sku: f.string().required().unique().filterable(),
    title: f.string().required().max(50).sortable(),
    price: f.decimal({ scale: 2 }),
    tags: f.array(f.string()),
    size: f.object({ width: f.integer(), height: f.integer() }),
    extra: f.json(),
    soldAt: f.date(),
    note: f.string().encrypted(),
    stock: f.integer().default(0),
  },
  policies: {
    list: 'public',
    read: 'public',
    create: 'authenticated',
    update: 'authenticated',
    delete: 'authenticated',
  },
});
const { app, call, person } = await startTestApp({ resources: [defineUser(), product] });
const ada = await person('Ada');

const batch = (operations: unknown[], mode?: string) => ada.call('POST', '/api/products/batch', { mode, operations });
const total = async () => (await call('GET', '/api/products?limit=1')).body.meta.total;

test('an atomic batch creates, updates and deletes records in order', async () => {
  const full = {
    sku: 'a1',
    title: 'One',
    price: '12.50',
    tags: ['x', 'y "z"'],
    size: { width: 1, height: 2 },
    extra: { deep: [1, null, 'ü'] },
    soldAt: '2026-01-02T03:04:05.678Z',
    note: 'secret',
    stock: 7,
  };
  const created = await batch([
    { op: 'create', data: full },
    { op: 'create', data: { sku: 'a2', title: 'Two' } },
    { op: 'create', data: { sku: 'a3', title: 'Three' } },
  ]);
  expect([created.status, created.body.data.map((one: { status: number }) => one.status)]).toEqual([
    200,
    [201, 201, 201],
  ]);
  const [a1, a2, a3] = created.body.data.map((one: { data: { id: string } }) => one.data);
  expect(a1).toMatchObject(full);
  expect((await call('GET', `/api/products/${a1.id}`)).body.data).toEqual(a1);
  expect(a2.stock).toBe(0);
  const changed = await batch([
    { op: 'update', id: a1.id, data: { title: 'Uno', note: 'new secret', extra: 'text' } },
    { op: 'create', data: { sku: 'a4', title: 'Four' } },
    { op: 'update', id: a2.id, data: { stock: 5, tags: [] }, ifMatch: a2.updatedAt },
    { op: 'update', id: a1.id, data: { title: 'Un', price: null } },
    { op: 'delete', id: a3.id },
  ]);
  expect(changed.status, JSON.stringify(changed.body)).toBe(200);
  expect(changed.body.data.map((one: { status: number }) => one.status)).toEqual([200, 201, 200, 200, 204]);
  expect(changed.body.data[0].data).toMatchObject({ title: 'Uno', note: 'new secret', price: '12.50', extra: 'text' });
  expect(changed.body.data[3].data).toMatchObject({ title: 'Un', note: 'new secret' });
  expect(changed.body.data[3].data).not.toHaveProperty('price');
  expect((await call('GET', `/api/products/${a1.id}`)).body.data).toEqual(changed.body.data[3].data);
  expect(await total()).toBe(3);
});

test('an atomic batch with invalid items changes nothing and reports all of them', async () => {
  const before = await total();
  const { status, body } = await batch([
    { op: 'create', data: { sku: 'b1', title: 'x' } },
    { op: 'create', data: { sku: 'b2', titel: 'x' } },
    { op: 'update', id: 'f'.repeat(24), data: { title: 'x' } },
    { op: 'remove' },
  ]);
  expect([status, body.error.code, body.error.details]).toEqual([
    422,
    'VALIDATION_ERROR',
    {
      'operations.1.titel': 'Unknown field',
      'operations.1.title': 'Is required',
      'operations.2': 'Not found',
      'operations.3.op': 'Must be one of create, update, upsert, delete',
    },
  ]);
  expect(await total()).toBe(before);
});

test('a duplicate of a unique value fails the later item, in either mode', async () => {
  const before = await total();
  const operations = [
    { op: 'create', data: { sku: 'c1', title: 'x' } },
    { op: 'create', data: { sku: 'c1', title: 'y' } },
    { op: 'create', data: { sku: 'c2', title: 'z' } },
  ];
  const atomic = await batch(operations, 'atomic');
  expect([atomic.status, atomic.body.error.details]).toEqual([409, { 'operations.1.sku': 'Is already taken' }]);
  expect(await total()).toBe(before);
  const perItem = await batch(operations, 'perItem');
  expect(perItem.body.data.map((one: { status: number }) => one.status)).toEqual([201, 409, 201]);
  expect(perItem.body.data[1].error).toEqual({
    code: 'CONFLICT',
    message: 'This value is already taken',
    details: { sku: 'Is already taken' },
  });
  expect(await total()).toBe(before + 2);
});

test('an upsert creates a record or updates the record with the same unique value', async () => {
  const { body } = await batch([
    { op: 'upsert', by: 'sku', data: { sku: 'd1', title: 'One' } },
    { op: 'upsert', by: 'sku', data: { sku: 'd2', title: 'Two' } },
    { op: 'upsert', by: 'sku', data: { sku: 'd1', title: 'Uno' } },
  ]);
  expect(body.data.map((one: { status: number }) => one.status)).toEqual([201, 201, 200]);
  expect(body.data[2].data).toMatchObject({ id: body.data[0].data.id, title: 'Uno' });
});

test('20 concurrent upserts of one key make one record', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      batch([{ op: 'upsert', by: 'sku', data: { sku: 'race', title: `t${i}` } }], i % 2 ? 'atomic' : 'perItem'),
    ),
  );
  const results = answers.map(({ body }) => body.data[0]);
  expect(results.filter(({ status }) => status === 201)).toHaveLength(1);
  expect(results.filter(({ status }) => status === 200)).toHaveLength(19);
  expect(new Set(results.map(({ data }) => data.id)).size).toBe(1);
});

test('a value may move from one record to another in a batch, in order', async () => {
  const { body } = await batch([
    { op: 'create', data: { sku: 'm1', title: 'One' } },
    { op: 'create', data: { sku: 'm2', title: 'Two' } },
  ]);
  const [one, two] = body.data.map(({ data }: { data: { id: string } }) => data.id);
  const wrong = [
    { op: 'update', id: two, data: { sku: 'm1' } },
    { op: 'update', id: one, data: { sku: 'm3' } },
  ];
  expect((await batch(wrong)).status).toBe(409);
  expect((await batch(wrong.toReversed())).status).toBe(200);
  const replaced = await batch([
    { op: 'delete', id: two },
    { op: 'create', data: { sku: 'm1', title: 'Again' } },
  ]);
  expect(replaced.body.data.map((item: { status: number }) => item.status)).toEqual([204, 201]);
});

test('two atomic batches over the same records in opposite order both succeed', async () => {
  const { body } = await batch(
    Array.from({ length: 20 }, (_, i) => ({ op: 'create', data: { sku: `l${i}`, title: 'x' } })),
  );
  const ids: string[] = body.data.map(({ data }: { data: { id: string } }) => data.id);
  const update = (order: string[], title: string) => batch(order.map((id) => ({ op: 'update', id, data: { title } })));
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) => update(i % 2 ? ids : ids.toReversed(), `t${i}`)),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect((await app.service('product').read(ids[0]!)).title).toMatch(/^t\d$/);
});

test('the route does not change other requests to the same path', async () => {
  expect((await ada.call('GET', '/api/products/batch')).status).toBe(404);
  expect((await ada.call('DELETE', '/api/products/batch')).status).toBe(404);
  expect((await ada.call('PATCH', '/api/products/batch', { title: 'x' })).status).toBe(404);
  expect((await call('POST', '/api/products/batch', { operations: [] })).status).toBe(401);
});

test('a malformed batch is refused as a whole', async () => {
  const refused = async (body: unknown) => {
    const { status, body: answer } = await ada.call('POST', '/api/products/batch', body);
    return [status, answer.error.details];
  };
  expect(await refused({ mode: 'all', operation: [] })).toEqual([
    422,
    { mode: 'Must be atomic or perItem', operation: 'Unknown field', operations: 'Must be a list of operations' },
  ]);
  expect(await refused({ operations: [] })).toEqual([422, { operations: 'Must have 1 to 1000 operations, not 0' }]);
  expect(await refused({ operations: Array(1001).fill({ op: 'delete', id: 'x' }) })).toEqual([
    422,
    { operations: 'Must have 1 to 1000 operations, not 1001' },
  ]);
});
