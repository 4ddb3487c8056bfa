import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { ApiError, defineResource, defineUser, f } from '../../src/index.ts';
import { startTestApp } from '../support/app.ts';

const results: unknown[] = [];
const order = defineResource('order', {
  fields: { title: f.string(), customer: f.ref('user').owner() },
  policies: { create: 'authenticated', read: 'owner', update: 'owner' },
  hooks: {
    async afterCreate({ customer }, { push }) {
      results.push(await push.send({ to: String(customer), title: 'Thank you' }));
    },
    async beforeUpdate({ title }, { customer }, { push }) {
      await push.enqueue({ to: String(customer), title: `Now ${title}` });
      if (title === 'refused') throw new ApiError('CONFLICT', 'No');
    },
  },
});
const { app, env, person } = await startTestApp({ resources: [defineUser(), order] }, { roles: 'all' });
const database = new Client({ connectionString: env.DATABASE_URL });
await database.connect();
afterAll(() => database.end());

const titles = async () =>
  (await database.query(`select message->>'title' as title from pushes order by created_at`)).rows.map(
    (row) => row.title,
  );

test('after hooks send with ctx.push; a push that a before hook enqueues is stored in the transaction of the change', async () => {
  const ann = await person('Ann');
  const device = await ann.call('POST', '/api/auth/devices', { token: 'a'.repeat(64), platform: 'android' });
  const { id } = (await ann.call('POST', '/api/orders', {})).body.data;
  expect(results).toEqual([
    {
      id: expect.any(String),
      status: 'captured',
      devices: 1,
      results: [{ device: device.body.data.id, ok: true }],
    },
  ]);

  expect((await ann.call('PATCH', `/api/orders/${id}`, { title: 'refused' })).status).toBe(409);
  expect(await titles()).toEqual(['Thank you']);
  expect((await ann.call('PATCH', `/api/orders/${id}`, { title: 'packed' })).status).toBe(200);
  expect(await titles()).toEqual(['Thank you', 'Now packed']);

  await expect(
    app.transaction(async (tx) => {
      await tx.service('order').update(id, { title: 'sent' });
      throw new Error('rolled back');
    }),
  ).rejects.toThrow('rolled back');
  expect(await titles()).toEqual(['Thank you', 'Now packed']);
});
