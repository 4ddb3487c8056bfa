import { expect, test } from 'vitest';
import { z } from 'zod';
import { apiKeys, defineResource, defineUser, f, webhooks } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const post = defineResource('post', {
  fields: {
    title: f.string().required(),
    numbers: f.array(f.integer()),
    grid: f.array(f.array(f.integer())),
    items: f.array(f.object({ name: f.string().required() })),
    address: f.object({ city: f.string() }),
    anything: f.json(),
  },
  policies: { create: 'public' },
  routes: (route) => [
    route.post('/loose', { policy: 'public', input: z.looseObject({}) }, () => 1),
    route.post('/checked', { policy: 'public', input: z.strictObject({ name: z.string() }) }, () => 1),
  ],
});

const stripping = await startTestApp({ resources: [post], settings: { unknownFields: 'strip' } });
const { app, call, person } = await startTestApp({
  resources: [defineUser(), post],
  extensions: [apiKeys(), webhooks()],
});
const ann = await person('Ann');

const keys = (count: number, value: unknown = 1) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]));
const TOO_MANY = { body: 'Must have at most 1000 fields in one object' };

test.each<[string, string, object]>([
  ['of an object in the body', '/api/posts', { title: 'x', address: keys(1001) }],
  ['of an item of an array', '/api/posts', { title: 'x', items: [keys(1001)] }],
  ['of a route input that accepts any field', '/api/posts/loose', keys(1001)],
  ['of a JSON value', '/api/posts', { title: 'x', anything: { deep: [keys(1001)] } }],
])('more than 1,000 fields in one object are refused before any of them is checked: %s', async (_, path, body) => {
  const { status, body: response } = await ann.call('POST', path, body);
  expect([status, response.error.code, response.error.details]).toEqual([422, 'VALIDATION_ERROR', TOO_MANY]);
});

test('more than 1,000 unknown fields are refused even when unknown fields are dropped', async () => {
  const { status, body } = await stripping.call('POST', '/api/posts', { title: 'x', ...keys(1001) });
  expect([status, body.error.details]).toEqual([422, TOO_MANY]);
  expect((await stripping.call('POST', '/api/posts', { title: 'x', ...keys(1000) })).status).toBe(201);
});

test('1,000 fields in an object of a JSON value are accepted', async () => {
  expect((await call('POST', '/api/posts', { title: 'x', anything: keys(1000) })).status).toBe(201);
});

test.each<[string, string, object]>([
  ['of a resource', '/api/posts', { title: 'x', ...keys(60_000) }],
  ['of a new API key', '/api/auth/api-keys', keys(60_000)],
  ['of an object in a record', '/api/posts', { title: 'x', address: keys(900) }],
  ['of many objects in a record', '/api/posts', { title: 'x', items: Array(50).fill(keys(900)) }],
  ['of a registration', '/api/auth/register', keys(60_000)],
  ['of the input of a custom route', '/api/posts/checked', { name: 'x', ...keys(60_000) }],
  ['of a new webhook', '/api/webhooks', keys(60_000)],
])('the first 100 of many unknown fields are named in the response: %s', async (_, path, body) => {
  const { status, body: response } = await ann.call('POST', path, body);
  const messages = Object.values(response.error.details);
  expect(status).toBe(422);
  expect(messages).toHaveLength(100);
  expect(messages).toContain('Unknown field');
});

test.each<[string, object]>([
  ['items of the wrong type', { numbers: Array(10_000).fill('x') }],
  ['arrays in an array', { grid: Array(300).fill(Array(300).fill('x')) }],
  ['objects without a required field', { items: Array(10_000).fill({}) }],
])('the first 100 of many invalid items are named in the response: %s', async (_, values) => {
  const { status, body } = await call('POST', '/api/posts', { title: 'x', ...values });
  const names = Object.keys(body.error.details);
  expect([status, names.length]).toEqual([422, 100]);
  expect(names[0]).toMatch(/\.0(\.|$)/);
});

test.each<[string, string, object, object]>([
  [
    'events of an endpoint',
    '/api/webhooks',
    { url: 'https://example.com', events: Array(90_000).fill({}) },
    { events: 'Must be at most 20 items' },
  ],
  [
    'scopes of a key',
    '/api/auth/api-keys',
    { name: 'x', scopes: Array(90_000).fill({}) },
    { scopes: 'Must be at most 1000 items' },
  ],
  [
    'numbers of a record',
    '/api/posts',
    { title: 'x', numbers: Array(90_000).fill({}) },
    { numbers: 'Must be at most 10000 items' },
  ],
])('a list with too many items is refused without checking the items: %s', async (_, path, body, details) => {
  const { status, body: response } = await ann.call('POST', path, body);
  expect([status, response.error.details]).toEqual([422, details]);
});

test('the first 100 of many invalid items of a list are named', async () => {
  const { status, body } = await ann.call('POST', '/api/auth/api-keys', { name: 'x', scopes: Array(1000).fill(1) });
  expect([status, Object.keys(body.error.details).length]).toEqual([422, 100]);
  expect(body.error.details['scopes.0']).toBe('Must be a string');
});

test('a field after many unknown ones is still validated, and a missing field is still named', async () => {
  const { status } = await call('POST', '/api/posts', { ...keys(50), title: 'x' });
  expect(status).toBe(422);
  const { body } = await call('POST', '/api/posts', keys(50));
  expect(body.error.details.title).toBe('Is required');
});

test('an error repeats only the beginning of a very long unknown field name', async () => {
  const { status, body } = await call('POST', '/api/posts', { title: 'x', ['n'.repeat(500_000)]: 1 });
  expect(status).toBe(422);
  expect(body.error.details).toEqual({ [`${'n'.repeat(256)}…`]: 'Unknown field' });
});

test('values in arrays are normalized', async () => {
  const { id } = await app.service('post').create({ title: 'x', items: [{ name: ' a ' }], grid: [[1], [2, 3]] });
  expect(await app.service('post').read(id)).toMatchObject({ items: [{ name: 'a' }], grid: [[1], [2, 3]] });
});
