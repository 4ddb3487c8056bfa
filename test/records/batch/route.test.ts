// The batch route as a part of HTTP: scopes, limits, idempotency, policies, events.
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { apiKeys, audit, createApp, defineResource, defineUser, f, softDelete } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';

const task = defineResource('task', {
  fields: {
    title: f.string().required().max(20),
    text: f.text(),
    secret: f.string().visibleTo('owner'),
    owner: f.ref('user').owner(),
  },
  policies: { list: 'authenticated', read: 'authenticated', create: 'authenticated', update: 'owner', delete: 'owner' },
  softDelete: true,
  audit: true,
  batch: { max: 50 },
});
const appendOnly = defineResource('entry', {
  fields: { text: f.string() },
  policies: { create: 'public' },
  crud: ['create', 'list'],
});
const without = defineResource('plain', { fields: { text: f.string() }, policies: { create: 'public' }, batch: false });
const custom = defineResource('custom', {
  fields: { text: f.string() },
  policies: { create: 'public' },
  routes: (route) => [route.post('/:slug', { policy: 'public' }, ({ params }) => ({ slug: params.slug }))],
});
const asked: string[] = [];
const hooked = defineResource('hooked', {
  fields: { text: f.string() },
  policies: { create: 'authenticated' },
  hooks: {
    afterCreate: ({ text }) => void asked.push(`hook ${text}`),
  },
});
const resources = [defineUser(), task, appendOnly, without, custom, hooked];
const { app, env, url, call, person } = await startTestApp({
  resources,
  extensions: [apiKeys({ routeScopes: { 'DELETE /tasks/:id': 'tasks:remove' } }), softDelete(), audit()],
  settings: { http: { batchBytes: 100_000 } },
  listeners: (one) => one.on('hooked.created', ({ record }) => void asked.push(`listener ${record.text}`)),
});
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());
const [ada, bob] = [await person('Ada'), await person('Bob')];
const send = (caller: { call: typeof call }, path: string, operations: unknown[], mode = 'atomic', headers = {}) =>
  caller.call('POST', `/api/${path}/batch`, { mode, operations }, headers);
const create = (title: string) => ({ op: 'create', data: { title } });

test('each operation is authorized by its own policy, and records of other users are not revealed', async () => {
  const { body } = await send(ada, 'tasks', [{ op: 'create', data: { title: 'One', secret: 's' } }]);
  const [{ data }] = body.data;
  expect(data.secret).toBe('s');
  const answer = await send(
    bob,
    'tasks',
    [{ op: 'update', id: data.id, data: { title: 'Two' } }, { op: 'delete', id: data.id }, create('Mine')],
    'perItem',
  );
  expect(answer.body.data.map(({ status }: { status: number }) => status)).toEqual([403, 403, 201]);
  const atomic = await send(bob, 'tasks', [create('Mine'), { op: 'delete', id: data.id }]);
  expect([atomic.status, atomic.body.error.details]).toEqual([
    403,
    { 'operations.1': 'You are not allowed to do this' },
  ]);
});

test('operations without a route are refused, and so is a batch of a resource without the route', async () => {
  const answer = await send(
    { call },
    'entries',
    [
      { op: 'create', data: { text: 'x' } },
      { op: 'delete', id: 'x' },
    ],
    'perItem',
  );
  expect(answer.body.data.map(({ status }: { status: number }) => status)).toEqual([201, 405]);
  expect((await send({ call }, 'plains', [])).status).toBe(405);
});

test('a custom route that takes the path of the batch route keeps its requests', async () => {
  expect((await send({ call }, 'customs', [])).body.data).toEqual({ slug: 'batch' });
});

test('a key needs the scope of writes', async () => {
  const keyOf = async (scopes: string[]) =>
    createClient(url, (await ada.call('POST', '/api/auth/api-keys', { name: 'x', scopes })).body.data.key);
  expect((await (await keyOf(['tasks:read']))('POST', '/api/tasks/batch', { operations: [create('x')] })).status).toBe(
    403,
  );
  expect((await (await keyOf(['tasks:write']))('POST', '/api/tasks/batch', { operations: [create('x')] })).status).toBe(
    200,
  );
});

test('a key also needs the scope of each operation', async () => {
  const { key } = (await ada.call('POST', '/api/auth/api-keys', { name: 'y', scopes: ['tasks:write'] })).body.data;
  const script = { call: createClient(url, key) };
  const { id } = (await send(script, 'tasks', [create('kept')])).body.data[0].data;
  for (const mode of ['atomic', 'perItem']) {
    const refused = await send(script, 'tasks', [create('x'), { op: 'delete', id }], mode);
    expect([refused.status, refused.body.error.message]).toEqual([403, 'This needs the scope "tasks:remove"']);
  }
  expect((await ada.call('GET', `/api/tasks/${id}`)).status).toBe(200);
});

test('a repeated batch with an idempotency key is performed once', async () => {
  const headers = { 'idempotency-key': 'batch-1' };
  const first = await send(ada, 'tasks', [create('once')], 'atomic', headers);
  const second = await send(ada, 'tasks', [create('once')], 'atomic', headers);
  expect(second.headers.get('idempotency-replayed')).toBe('true');
  expect(second.body).toEqual(first.body);
});

test('the size of a batch, of its body and of the records that it changes is limited', async () => {
  expect((await send(ada, 'tasks', Array(51).fill(create('x')))).body.error.details).toEqual({
    operations: 'Must have 1 to 50 operations, not 51',
  });
  const large = { op: 'create', data: { title: 'large', text: 'x'.repeat(60_000) } };
  expect((await send(ada, 'tasks', [large, large])).status).toBe(413);
  const ids: string[] = [];
  for (let i = 0; i < 2; i++) ids.push((await send(ada, 'tasks', [large])).body.data[0].data.id);
  const updates = ids.map((id) => ({ op: 'update', id, data: { title: 'changed' } }));
  const refused = await send(ada, 'tasks', updates);
  expect([refused.status, refused.body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  expect((await app.service(task).read(ids[0]!)).title).toBe('large');
});

test('deleted records of a batch can be restored by their owner', async () => {
  const { body } = await send(ada, 'tasks', [create('gone')]);
  const { id } = body.data[0].data;
  await send(ada, 'tasks', [{ op: 'delete', id }]);
  expect((await ada.call('GET', `/api/tasks/${id}`)).status).toBe(404);
  expect((await ada.call('POST', `/api/tasks/${id}/restore`)).status).toBe(200);
});

test('events of a batch are stored like those of single requests, with the origin of the change', async () => {
  const eventsOf = async (work: () => Promise<unknown>) => {
    await sql.query('delete from outbox');
    await work();
    const { rows } = await sql.query('select name, user_id, payload from outbox order by id');
    return rows.map(({ name, user_id, payload }) => [name, user_id, Object.keys(payload).sort(), payload.origin.via]);
  };
  const single = await eventsOf(async () => {
    const { id } = (await ada.call('POST', '/api/tasks', { title: 'a' })).body.data;
    await ada.call('PATCH', `/api/tasks/${id}`, { title: 'b' });
    await ada.call('DELETE', `/api/tasks/${id}`);
  });
  const batched = await eventsOf(async () => {
    const { id } = (await send(ada, 'tasks', [create('a')])).body.data[0].data;
    await send(ada, 'tasks', [
      { op: 'update', id, data: { title: 'b' } },
      { op: 'delete', id },
    ]);
  });
  expect(batched).toEqual(single);
  expect(batched.map(([name]) => name)).toEqual(['task.created', 'task.updated', 'task.deleted']);
});

test('after hooks and listeners run for each item, in order, and not for a batch that is rolled back', async () => {
  await send(ada, 'hookeds', [
    { op: 'create', data: { text: 'a' } },
    { op: 'create', data: { text: 'b' } },
  ]);
  await send(ada, 'hookeds', [
    { op: 'create', data: { text: 'c' } },
    { op: 'create', data: { text: 5 } },
  ]);
  expect(asked).toEqual(['listener a', 'hook a', 'listener b', 'hook b']);
});

test('rate limits count ten operations as one request', async () => {
  const limited = await startTestApp({
    resources: [appendOnly],
    settings: { rateLimit: { enabled: true, global: { limit: 10, windowMs: 3_600_000 } } },
  });
  const batch = (count: number) =>
    limited.call('POST', '/api/entries/batch', {
      operations: Array.from({ length: count }, () => ({ op: 'create', data: { text: 'x' } })),
    });
  const first = await batch(75);
  expect([first.status, first.headers.get('ratelimit-remaining')]).toEqual([200, '2']);
  expect((await batch(40)).status).toBe(429);
  expect(await limited.app.service(appendOnly).count()).toBe(75);
});

test('a batch option without a route that changes records is a configuration error', () => {
  const wrong = defineResource('wrong', { fields: {}, crud: ['list'], batch: true });
  const tooMany = defineResource('many', { fields: {}, batch: { max: 5000 } });
  expect(() => createApp({ resources: [wrong] }, env)).toThrow(
    'resource "wrong": batch: the resource has no route that changes records',
  );
  expect(() => createApp({ resources: [tooMany] }, env)).toThrow(
    'batch: must be true, false or an object such as { max: 100 }',
  );
});
