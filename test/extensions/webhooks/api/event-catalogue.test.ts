import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { apiKeys, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { createClient, startTestApp } from '../../../support/app.ts';

const order = defineResource('order', {
  fields: {
    title: f.string().required().min(6),
    total: f.number().min(10),
    state: f.enum(['open', 'paid']).default('open'),
    tags: f.array(f.string()),
    place: f.object({ city: f.string(), code: f.integer() }),
    margin: f.number().visibleTo('admin'),
    customer: f.ref('user').owner().populate(),
  },
  policies: { read: 'owner' },
});
const silent = defineResource('silent', { fields: { text: f.text() }, webhooks: false });
const paid = z.object({ invoice: z.string(), amount: z.number().positive(), at: z.iso.datetime() });
const events = { 'invoice.paid': { schema: paid, description: 'An invoice was paid' }, 'batch.done': { schema: paid } };
const { url, call, person } = await startTestApp({
  resources: [defineUser(), order, silent],
  extensions: [webhooks({ events }), apiKeys()],
  settings: { openapi: { enabled: false } },
});
const ann = await person('Ann');
const names = ['user', 'order'].flatMap((name) => ['created', 'updated', 'deleted'].map((one) => `${name}.${one}`));

test('the catalogue lists every event that an endpoint can subscribe to, for callers who may have endpoints', async () => {
  const { body } = await ann.call('GET', '/api/webhooks/events');
  expect(body.data.map(({ name }: { name: string }) => name)).toEqual([...names, 'invoice.paid', 'batch.done']);
  expect(body.data).toContainEqual({ name: 'invoice.paid', description: 'An invoice was paid' });
  expect((await call('GET', '/api/webhooks/events')).status).toBe(401);
  const created = await ann.call('POST', '/api/auth/api-keys', { name: 'script', scopes: ['webhooks:read'] });
  const key = createClient(url, created.body.data.key);
  expect((await key('GET', '/api/webhooks/events')).status).toBe(200);
});

test('each event has a schema that stands alone, even without a served OpenAPI document, and a sample that fits it', async () => {
  for (const name of [...names, ...Object.keys(events)]) {
    const { status, body } = await ann.call('GET', `/api/webhooks/event?name=${name}`);
    expect([name, status]).toEqual([name, 200]);
    const { schema, sample } = body.data;
    const ajv = addFormats.default(new Ajv2020({ strict: false }));
    const validate = ajv.compile(schema);
    validate(sample);
    expect([name, validate.errors]).toEqual([name, null]);
    expect(sample.type).toBe(name);
  }
});

test('a sample has the fields that every receiver may get, with values of their types', async () => {
  const { sample } = (await ann.call('GET', '/api/webhooks/event?name=order.updated')).body.data;
  expect(sample.data).toMatchObject({
    title: 'texttt',
    total: 10,
    state: 'open',
    tags: ['text'],
    place: { city: 'text', code: 1 },
    customer: expect.stringMatching(/^[0-9a-f]{24}$/),
  });
  expect(sample.data).not.toHaveProperty('margin');
});

test.each(['nothing.happened', 'webhook.test', '__proto__', 'silent.created', '*'])(
  'there is no event %j in the catalogue',
  async (name) => {
    expect((await ann.call('GET', `/api/webhooks/event?name=${encodeURIComponent(name)}`)).status).toBe(404);
  },
);
