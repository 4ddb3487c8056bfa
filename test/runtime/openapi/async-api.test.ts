import specification from '@asyncapi/specs/schemas/3.0.0-without-$id.json' with { type: 'json' };
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineUser, webhooks } from '../../../src/index.ts';
import { readSettings } from '../../../src/platform/settings/settings.ts';
import { createAsyncApiDocument } from '../../../src/runtime/openapi/async-api.ts';
import { startReceiver } from '../../fakes/receiver.ts';
import { startTestApp } from '../../support/app.ts';
import type { Json } from './contract.ts';
import { everyApp } from './every-app.ts';

const { url, person, call } = await startTestApp(everyApp, { roles: ['web', 'relay', 'webhook-worker'] });
const read = async (at: string, path: string) => (await fetch(`${at}/api/${path}`)).json() as Promise<Json>;
const document = await read(url, 'asyncapi.json');

/** Validates values by the definitions of draft 07, on which AsyncAPI is based. */
function createValidator(): Ajv {
  const ajv = new Ajv({ strict: false, allErrors: true });
  formats.default(ajv);
  return ajv;
}

/** Validates a document by the JSON Schema of the specification. Returns the errors. */
function faultsOf(document: Json): unknown[] {
  const validate = createValidator().compile(specification);
  return validate(document) ? [] : validate.errors!;
}

/** All values of a key at any depth. */
function valuesOf(part: unknown, key: string): unknown[] {
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([name, value]) => [...(name === key ? [value] : []), ...valuesOf(value, key)]);
}

const resolve = (ref: string): unknown =>
  ref
    .slice(2)
    .split('/')
    .reduce<Json | undefined>((part, name) => part?.[name], document);

test('the document of an app that uses every feature is valid by the JSON Schema of AsyncAPI 3.0', () => {
  expect(document.asyncapi).toBe('3.0.0');
  expect(faultsOf(document)).toEqual([]);
  expect(faultsOf({ ...document, operations: { x: { action: 'post' } } })).not.toEqual([]);
});

test('every reference leads to a part of the document', () => {
  const references = valuesOf(document, '$ref') as string[];
  expect(references.length).toBeGreaterThan(50);
  expect(references.filter((ref) => resolve(ref) === undefined)).toEqual([]);
});

test('it has a message, with the signed headers, and an operation for each event of the OpenAPI document', async () => {
  const events = Object.keys((await read(url, 'openapi.json')).webhooks);
  expect(events).toContain('webhook.test');
  for (const part of [document.components.messages, document.operations, document.channels.webhooks.messages])
    expect(Object.keys(part)).toEqual(events);
  const { headers, payload } = document.components.messages['webhook.test'];
  expect(Object.keys((resolve(headers.$ref) as Json).properties)).toEqual([
    'webhook-id',
    'webhook-timestamp',
    'webhook-signature',
  ]);
  expect(payload).toEqual({ $ref: '#/components/schemas/WebhookTestEvent' });
  expect(resolve(payload.$ref)).toMatchObject({ properties: { type: { const: 'webhook.test' } } });
  expect(document.operations['webhook.test']).toMatchObject({ action: 'send', bindings: { http: { method: 'POST' } } });
});

test('a body that an endpoint receives is valid by the schema of its message', async () => {
  const receiver = await startReceiver();
  const ada = await person('Ada');
  const { body } = await ada.call('POST', '/api/webhooks', { url: receiver.url, events: ['thing.created'] });
  expect(body.error).toBeUndefined();
  expect((await ada.call('POST', '/api/things', { title: 'A', tags: ['x'], data: { any: 1 } })).status).toBe(201);
  const [request] = await receiver.received(1);
  await receiver.close();
  const { payload } = document.components.messages['thing.created'];
  const validate = createValidator().compile({ components: document.components, ...payload });
  const event = JSON.parse(request!.body);
  expect([validate(event), validate.errors]).toEqual([true, null]);
  expect(validate({ ...event, data: { ...event.data, amount: 'x' } })).toBe(false);
});

test('schemas that draft 07 writes differently are translated', () => {
  const data = z.object({ pair: z.tuple([z.string(), z.number()]), rest: z.tuple([z.string()]).rest(z.number()) });
  const event = {
    name: 'pair.made',
    summary: 'A pair',
    headers: {},
    data,
    body: (schema: object) => ({ properties: { data: schema, beside: { $ref: '#/x', description: 'Text' } } }),
    tags: [],
  };
  const { components } = createAsyncApiDocument({ resources: [], sent: [event], settings: readSettings({}) }) as Json;
  expect(components.schemas.PairMadeEvent.properties).toMatchObject({
    data: {
      properties: {
        pair: { items: [{ type: 'string' }, { type: 'number' }] },
        rest: { items: [{ type: 'string' }], additionalItems: { type: 'number' } },
      },
    },
    beside: { description: 'Text', allOf: [{ $ref: '#/x' }] },
  });
  expect(JSON.stringify(components)).not.toContain('prefixItems');
});

test('the document is public, compressed and can be revalidated, like the OpenAPI document', async () => {
  const headers = { 'accept-encoding': 'gzip' };
  const first = await fetch(`${url}/api/asyncapi.json`, { headers });
  expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect([first.headers.get('content-encoding'), first.headers.get('cache-control')]).toEqual(['gzip', 'no-cache']);
  const known = { ...headers, 'if-none-match': first.headers.get('etag')! };
  expect((await fetch(`${url}/api/asyncapi.json`, { headers: known })).status).toBe(304);
  expect((await call('POST', '/api/asyncapi.json')).status).toBe(405);
});

test('an app has no document if it sends no events, or if openapi.enabled is false', async () => {
  const silent = await startTestApp({ resources: [defineUser()] });
  const closed = await startTestApp({
    resources: [defineUser()],
    extensions: [webhooks()],
    settings: { openapi: { enabled: false } },
  });
  for (const one of [silent, closed]) expect((await fetch(`${one.url}/api/asyncapi.json`)).status).toBe(404);
});
