import { expect, test } from 'vitest';
import { compareDocuments } from '../../scripts/api/openapi/documents.ts';
import type { Json } from '../../scripts/api/openapi/json.ts';

const ok = { description: 'OK' };

function json(schema: unknown): Json {
  return { content: { 'application/json': { schema } } };
}

function documentWith(operation: Json, components: Json = {}, path = '/api/posts', method = 'post'): Json {
  const whole = { operationId: 'createPost', responses: { 201: ok }, ...operation };
  return { openapi: '3.1.1', info: { title: 'API', version: '1' }, paths: { [path]: { [method]: whole } }, components };
}

const requestOf = (schema: unknown) => documentWith({ requestBody: { required: true, ...json(schema) } });
const responseOf = (schema: unknown) => documentWith({ responses: { 201: { ...ok, ...json(schema) } } });
const objectOf = (title: unknown, more: Json = {}) => ({ type: 'object', properties: { title }, ...more });
const withParameter = (parameter: Json) => documentWith({ parameters: [{ in: 'query', schema: {}, ...parameter }] });

function describeChanges(before: Json, after: Json): string[] {
  return compareDocuments(before, after).map(
    ({ breaking, place, text }) => `${breaking ? 'breaking' : 'compatible'}: ${place}: ${text}`,
  );
}

/** A change, and what it is called in a body of a request and in a response. */
const SCHEMA_CHANGES: [change: string, before: unknown, after: unknown, inRequest: string, inResponse: string][] = [
  [
    'a removed property',
    { type: 'object', properties: { a: {}, title: {} } },
    { type: 'object', properties: { a: {} } },
    'breaking: title: property removed',
    'breaking: title: property removed',
  ],
  [
    'a new property',
    { type: 'object', properties: {} },
    objectOf({}),
    'compatible: title: new property',
    'compatible: title: new property',
  ],
  [
    'a new required property',
    { type: 'object', properties: {} },
    objectOf({}, { required: ['title'] }),
    'breaking: title: new required property',
    'compatible: title: new property',
  ],
  [
    'a newly required property',
    objectOf({}),
    objectOf({}, { required: ['title'] }),
    'breaking: title: required',
    'compatible: title: required',
  ],
  [
    'a property that is no longer required',
    objectOf({}, { required: ['title'] }),
    objectOf({}),
    'compatible: title: no longer required',
    'breaking: title: no longer required',
  ],
  [
    'another type',
    objectOf({ type: 'string' }),
    objectOf({ type: 'integer' }),
    'breaking: title: type changed from string to integer',
    'breaking: title: type changed from string to integer',
  ],
  [
    'an integer that becomes a number',
    objectOf({ type: 'integer' }),
    objectOf({ type: 'number' }),
    'compatible: title: type changed from integer to number',
    'breaking: title: type changed from integer to number',
  ],
  [
    'a value that may be null',
    objectOf({ type: 'string' }),
    objectOf({ type: ['string', 'null'] }),
    'compatible: title: type changed from string to string | null',
    'breaking: title: type changed from string to string | null',
  ],
  [
    'a value that may be null, as a union',
    objectOf({ type: 'string', maxLength: 5 }),
    objectOf({ anyOf: [{ type: 'string', maxLength: 5 }, { type: 'null' }] }),
    'compatible: title: new variant: null',
    'breaking: title: new variant: null',
  ],
  [
    'a removed variant',
    objectOf({ oneOf: [{ type: 'string' }, { type: 'object', properties: { id: {} } }] }),
    objectOf({ oneOf: [{ type: 'string' }] }),
    'breaking: title: removed variant: object with id',
    'compatible: title: removed variant: object with id',
  ],
  [
    'a stricter variant',
    objectOf({ anyOf: [{ type: 'string', maxLength: 9 }, { type: 'null' }] }),
    objectOf({ anyOf: [{ type: 'null' }, { type: 'string', maxLength: 5 }] }),
    'breaking: title: maxLength changed from 9 to 5',
    'compatible: title: maxLength changed from 9 to 5',
  ],
  [
    'a removed value of an enum',
    objectOf({ enum: ['draft', 'published'] }),
    objectOf({ enum: ['draft'] }),
    'breaking: title: removed values: "published"',
    'compatible: title: removed values: "published"',
  ],
  [
    'a new value of an enum',
    objectOf({ enum: ['draft'] }),
    objectOf({ enum: ['draft', 'published'] }),
    'compatible: title: new values: "published"',
    'breaking: title: new values: "published"',
  ],
  [
    'a new enum',
    objectOf({ type: 'string' }),
    objectOf({ type: 'string', enum: ['draft'] }),
    'breaking: title: only these values are left: "draft"',
    'compatible: title: only these values are left: "draft"',
  ],
  ...(
    [
      ['a stricter maximum', { maximum: 9 }, { maximum: 5 }, 'maximum changed from 9 to 5'],
      ['a new minimum', {}, { minimum: 1 }, 'minimum 1 added'],
      ['a shorter length', { maxLength: 9 }, { maxLength: 5 }, 'maxLength changed from 9 to 5'],
      ['fewer items', { maxItems: 9 }, { maxItems: 5 }, 'maxItems changed from 9 to 5'],
      ['a new pattern', {}, { pattern: '^a' }, 'pattern "^a" added'],
      ['a new format', {}, { format: 'email' }, 'format "email" added'],
      ['unique items', { uniqueItems: false }, { uniqueItems: true }, 'uniqueItems true added'],
    ] as const
  ).map(([change, before, after, text]): (typeof SCHEMA_CHANGES)[number] => [
    change,
    objectOf(before),
    objectOf(after),
    `breaking: title: ${text}`,
    `compatible: title: ${text}`,
  ]),
  [
    'a wider maximum',
    objectOf({ maximum: 5 }),
    objectOf({ maximum: 9 }),
    'compatible: title: maximum changed from 5 to 9',
    'breaking: title: maximum changed from 5 to 9',
  ],
  [
    'another pattern',
    objectOf({ pattern: '^a' }),
    objectOf({ pattern: '^b' }),
    'breaking: title: pattern changed from "^a" to "^b"',
    'breaking: title: pattern changed from "^a" to "^b"',
  ],
  [
    'a stricter schema of items',
    objectOf({ type: 'array', items: { type: 'string' } }),
    objectOf({ type: 'array', items: { type: 'string', maxLength: 5 } }),
    'breaking: title[]: maxLength 5 added',
    'compatible: title[]: maxLength 5 added',
  ],
  [
    'unknown properties that are refused',
    objectOf({}),
    objectOf({}, { additionalProperties: false }),
    'breaking: other properties are refused',
    'compatible: other properties are refused',
  ],
  [
    'another default',
    objectOf({ default: 1 }),
    objectOf({ default: 2 }),
    'breaking: title: default changed from 1 to 2',
    'compatible: title: default changed from 1 to 2',
  ],
  [
    'a keyword that the comparison does not know',
    objectOf({ not: { const: 'x' } }),
    objectOf({ not: { const: 'y' } }),
    'breaking: title: not changed from {"const":"x"} to {"const":"y"}',
    'breaking: title: not changed from {"const":"x"} to {"const":"y"}',
  ],
];

test.each(SCHEMA_CHANGES)(
  '%s is classified for requests and for responses',
  (_, before, after, inRequest, inResponse) => {
    const placed = (text: string, path: string) => {
      const [kind, ...rest] = text.split(': ');
      const inside = rest.length === 1 ? `${path}: ${rest}` : `${path}.${rest.join(': ')}`;
      return [`${kind}: POST /api/posts: ${inside}`];
    };
    expect(describeChanges(requestOf(before), requestOf(after))).toEqual(placed(inRequest, 'body'));
    expect(describeChanges(responseOf(before), responseOf(after))).toEqual(placed(inResponse, '201'));
  },
);

const OPERATION_CHANGES: [change: string, before: Json, after: Json, expected: string][] = [
  ['a removed method', documentWith({}), { paths: { '/api/posts': {} } }, 'breaking: POST /api/posts: removed'],
  ['a removed route', documentWith({}), { paths: {} }, 'breaking: POST /api/posts: removed'],
  ['a new route', { paths: {} }, documentWith({}), 'compatible: POST /api/posts: new'],
  [
    'another operationId',
    documentWith({}),
    documentWith({ operationId: 'addPost' }),
    'breaking: POST /api/posts: operationId changed from createPost to addPost: generated clients name their methods by it',
  ],
  [
    'a removed parameter',
    withParameter({ name: 'tag' }),
    documentWith({}),
    'breaking: POST /api/posts: query parameter tag removed',
  ],
  [
    'a new parameter',
    documentWith({}),
    withParameter({ name: 'tag' }),
    'compatible: POST /api/posts: new query parameter tag',
  ],
  [
    'a new required parameter',
    documentWith({}),
    withParameter({ name: 'tag', required: true }),
    'breaking: POST /api/posts: new required query parameter tag',
  ],
  [
    'a parameter that becomes required',
    withParameter({ name: 'tag' }),
    withParameter({ name: 'tag', required: true }),
    'breaking: POST /api/posts: query parameter tag: required',
  ],
  [
    'a stricter parameter',
    withParameter({ name: 'limit', schema: { maximum: 100 } }),
    withParameter({ name: 'limit', schema: { maximum: 50 } }),
    'breaking: POST /api/posts: query parameter limit: maximum changed from 100 to 50',
  ],
  [
    'another style of a parameter',
    withParameter({ name: 'tag', explode: false }),
    withParameter({ name: 'tag' }),
    'breaking: POST /api/posts: query parameter tag: explode changed',
  ],
  [
    'a header in another case',
    withParameter({ in: 'header', name: 'If-Match' }),
    withParameter({ in: 'header', name: 'if-match' }),
    'compatible: document: only descriptions, examples or the order changed',
  ],
  ['a new body', documentWith({}), documentWith({ requestBody: json({}) }), 'compatible: POST /api/posts: new body'],
  [
    'a new required body',
    documentWith({}),
    documentWith({ requestBody: { ...json({}), required: true } }),
    'breaking: POST /api/posts: new required body',
  ],
  [
    'a body that becomes required',
    documentWith({ requestBody: json({}) }),
    documentWith({ requestBody: { ...json({}), required: true } }),
    'breaking: POST /api/posts: body: required',
  ],
  [
    'a removed status',
    documentWith({ responses: { 201: ok, 409: ok } }),
    documentWith({}),
    'breaking: POST /api/posts: status 409 removed',
  ],
  [
    'a new error status',
    documentWith({}),
    documentWith({ responses: { 201: ok, 409: ok } }),
    'compatible: POST /api/posts: new status 409',
  ],
  [
    'a new success status',
    documentWith({}),
    documentWith({ responses: { 201: ok, 202: ok } }),
    'breaking: POST /api/posts: new status 202',
  ],
  [
    'a removed header of a response',
    documentWith({ responses: { 201: { ...ok, headers: { ETag: { schema: {} } } } } }),
    documentWith({}),
    'breaking: POST /api/posts: 201: header ETag removed',
  ],
  [
    'a sign-in that becomes necessary',
    documentWith({ security: [] }),
    documentWith({ security: [{ session: [] }] }),
    'breaking: POST /api/posts: security changed from nothing to session',
  ],
  [
    'a sign-in that is no longer accepted',
    documentWith({ security: [{ session: [] }, { apiKey: ['posts:write'] }] }),
    documentWith({ security: [{ session: [] }] }),
    'breaking: POST /api/posts: security changed from session or apiKey (posts:write) to session',
  ],
  [
    'a further way to sign in',
    documentWith({ security: [{ session: [] }] }),
    documentWith({ security: [{ session: [] }, { apiKey: [] }] }),
    'compatible: POST /api/posts: security changed from session to session or apiKey',
  ],
  [
    'another scope',
    documentWith({ 'x-required-scope': 'posts:write' }),
    documentWith({ 'x-required-scope': 'posts:publish' }),
    'breaking: POST /api/posts: scope of API keys changed from posts:write to posts:publish',
  ],
  [
    'a removed scope',
    documentWith({ 'x-required-scope': 'posts:write' }),
    documentWith({}),
    'compatible: POST /api/posts: scope of API keys changed from posts:write to none',
  ],
  [
    'a stricter policy',
    documentWith({ 'x-policy': 'owner | admin' }),
    documentWith({ 'x-policy': 'owner' }),
    'breaking: POST /api/posts: policy changed from owner | admin to owner',
  ],
  [
    'a wider policy',
    documentWith({ 'x-policy': 'owner | admin' }),
    documentWith({ 'x-policy': 'authenticated' }),
    'compatible: POST /api/posts: policy changed from owner | admin to authenticated',
  ],
  [
    'a policy that is no longer public',
    documentWith({ 'x-policy': 'public' }),
    documentWith({ 'x-policy': 'authenticated' }),
    'breaking: POST /api/posts: policy changed from public to authenticated',
  ],
  [
    'a removed schema name',
    documentWith({}, { schemas: { Post: {} } }),
    documentWith({}),
    'breaking: schema Post: removed: generated clients use its name',
  ],
  [
    'another security scheme',
    documentWith({}, { securitySchemes: { session: { type: 'http', scheme: 'bearer' } } }),
    documentWith({}, { securitySchemes: { session: { type: 'http', scheme: 'basic' } } }),
    'breaking: security scheme session: changed',
  ],
  [
    'another description',
    documentWith({ description: 'a' }),
    documentWith({ description: 'b' }),
    'compatible: document: only descriptions, examples or the order changed',
  ],
];

test.each(OPERATION_CHANGES)('%s is classified', (_, before, after, expected) => {
  expect(describeChanges(before, after)).toEqual([expected]);
});

test('a named schema is reported once in each direction, with its name', () => {
  const reference = { $ref: '#/components/schemas/Post' };
  const documentOf = (title: Json) =>
    documentWith(
      {
        requestBody: json(reference),
        responses: { 200: { ...ok, ...json(reference) }, 201: { ...ok, ...json(reference) } },
      },
      { schemas: { Post: objectOf(title, { description: 'A post', properties: { title, parent: reference } }) } },
    );
  const changes = compareDocuments(documentOf({ maxLength: 9 }), documentOf({ maxLength: 5 }));
  expect(changes).toEqual([
    {
      breaking: true,
      place: 'schema Post in requests',
      text: 'title: maxLength changed from 9 to 5',
      names: ['Post', 'title'],
    },
    {
      breaking: false,
      place: 'schema Post in responses',
      text: 'title: maxLength changed from 9 to 5',
      names: ['Post'],
    },
  ]);
});

test('a schema that refers to itself is compared with any other schema', () => {
  const documentOf = (schema: Json) =>
    documentWith(
      { requestBody: json(schema) },
      { schemas: { List: { type: 'array', items: { $ref: '#/components/schemas/List' } } } },
    );
  const reference = { $ref: '#/components/schemas/List' };
  expect(describeChanges(documentOf({}), documentOf(reference))).toEqual([
    'breaking: POST /api/posts: body: type changed from any to array',
    'breaking: POST /api/posts: body[]: type changed from any to array',
  ]);
  expect(describeChanges(documentOf(reference), documentOf(reference))).toEqual([]);
});

test('an event that the server sends is compared like a response', () => {
  const sent = (schema: unknown) => ({
    paths: {},
    webhooks: {
      'post.created': { post: { requestBody: { required: true, ...json(schema) }, responses: { '2XX': ok } } },
    },
  });
  expect(describeChanges(sent(objectOf({})), sent({ type: 'object' }))).toEqual([
    'breaking: webhook post.created: body.title: property removed',
  ]);
  expect(describeChanges(sent({ enum: ['a'] }), sent({ enum: ['a', 'b'] }))).toEqual([
    'breaking: webhook post.created: body: new values: "b"',
  ]);
  expect(describeChanges(sent({}), { paths: {} })).toEqual(['breaking: webhook post.created: removed']);
});
