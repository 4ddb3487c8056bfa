import { expect, test } from 'vitest';
import { defineResource, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const requestedOptions = '-c search_path=public -c timezone=Asia/Kolkata -c datestyle=SQL,DMY -c extra_float_digits=-3';
const open = { list: 'public', read: 'public', create: 'public', update: 'public' } as const;
const sample = defineResource('sample', {
  fields: { taken: f.date().filterable().sortable(), value: f.number(), label: f.string() },
  policies: open,
  hooks: { beforeUpdate: () => undefined },
});
const { call } = await startTestApp(
  { resources: [sample] },
  {
    env: ({ DATABASE_URL }) => ({ DATABASE_URL: `${DATABASE_URL}?options=${encodeURIComponent(requestedOptions)}` }),
  },
);

test('dates are UTC and ISO 8601 and numbers are exact, whatever the connection string sets', async () => {
  const startedAt = new Date().toISOString();
  const taken = '2024-06-01T12:00:00.500Z';
  const { status, body } = await call('POST', '/api/samples', { taken, value: 0.1 + 0.2 });
  expect([status, body.data]).toEqual([201, expect.objectContaining({ taken, value: 0.30000000000000004 })]);
  expect(body.data.createdAt >= startedAt && body.data.createdAt <= new Date().toISOString()).toBe(true);
  expect((await call('GET', `/api/samples?taken=${taken}`)).body.data).toEqual([body.data]);
  expect((await call('PATCH', `/api/samples/${body.data.id}`, { label: 'x' })).status).toBe(200);
});
