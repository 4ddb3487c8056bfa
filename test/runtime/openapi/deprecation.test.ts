import { expect, test } from 'vitest';
import { defineResource, defineUser, f, realtime } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { type Json, readContract } from './contract.ts';
import { faultsOf } from './validators.ts';

const since = '2026-11-01';
const post = defineResource('post', {
  fields: {
    headline: f.string(),
    title: f
      .string()
      .describe('The old title.')
      .filterable()
      .sortable()
      .visibleTo('authenticated')
      .deprecated({ since, sunset: '2027-06-01', use: 'headline', link: 'https://docs.example.com/title' }),
    author: f.ref('user').deprecated({ since }),
    reader: f.ref('user'),
    status: f.enum(['a', 'b']).required().default('a').deprecated({ since }),
    price: f.decimal().deprecated({ since }),
    place: f.object({ city: f.string(), zip: f.string().deprecated({ since, use: 'place.city' }) }),
    lines: f.array(f.object({ note: f.string().deprecated({ since }) })),
  },
  policies: { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' },
  routes: (route) => [
    route.get(
      '/old',
      {
        policy: 'public',
        description: 'Returns nothing.',
        errors: [],
        deprecated: { since, sunset: '2027-06-01', use: 'GET /api/posts', link: 'https://docs.example.com/old' },
      },
      () => ({}),
    ),
    route.get('/new', { policy: 'public' }, () => ({})),
  ],
});
const note = defineResource('note', {
  fields: { text: f.string(), post: f.ref('post') },
  deprecated: { list: { since } },
});
const plain = defineResource('plain', { fields: { text: f.string() } });
const { url } = await startTestApp({ resources: [defineUser(), post, note, plain], extensions: [realtime()] });
const { document, operations, resolve } = await readContract(url);
const { schemas } = document.components;
const at = (id: string): Json => operations.get(id)!.spec;
const parameter = (id: string, name: string) =>
  (at(id).parameters as Json[]).map(resolve).find((one) => one.name === name)!;
const deprecatedOperations = () =>
  [...operations.values()].filter(({ spec }) => spec.deprecated === true).map(({ id }) => id);

test('two validators find no errors in the document of an app with deprecated routes and fields', async () => {
  expect(await faultsOf(document)).toEqual([]);
});

test('a deprecated operation is marked, and its description names the dates, the replacement and the page', () => {
  expect(deprecatedOperations()).toEqual(['getPostsOld', 'listNotes']);
  expect(at('getPostsOld').description).toBe(
    'Deprecated as of 2026-11-01. Use `GET /api/posts` instead. It may be removed after 2027-06-01. ' +
      'More information: <https://docs.example.com/old>.\n\nReturns nothing.\n\nAccess: `public`.',
  );
  expect(at('listNotes').description).toMatch(/^Deprecated as of 2026-11-01\.\n\n/);
});

test('a deprecated field is marked in responses and bodies, and its type is unchanged', () => {
  const text =
    'The old title. Deprecated as of 2026-11-01. Use `headline` instead. It may be removed after 2027-06-01. ' +
    'More information: <https://docs.example.com/title>.';
  expect(schemas.Post.properties.title).toEqual({
    type: 'string',
    deprecated: true,
    description: `${text} Visible only to \`authenticated\`.`,
  });
  for (const name of ['PostCreate', 'PostUpdate']) {
    expect(schemas[name].properties.title).toEqual({
      anyOf: [{ type: 'string' }, { type: 'null' }],
      deprecated: true,
      description: text,
    });
    expect(schemas[name].properties.headline).not.toHaveProperty('deprecated');
    expect(schemas[name].properties.status).toMatchObject({ deprecated: true });
  }
  expect(schemas.Post.properties.author).toEqual({
    deprecated: true,
    description: 'Deprecated as of 2026-11-01.',
    oneOf: [expect.not.objectContaining({ deprecated: true }), { $ref: '#/components/schemas/User' }],
  });
  expect(schemas.Post.required).toContain('status');
  expect(schemas.Post.properties.price.description).toMatch(/Deprecated as of 2026-11-01\.$/);
});

test('a deprecated field inside an object or an array is marked', () => {
  for (const name of ['Post', 'PostCreate', 'PostUpdate']) {
    const { place, lines } = schemas[name].properties;
    const membersOf = (schema: Json): Json => (schema.anyOf?.[0] ?? schema).properties;
    const itemOf = (schema: Json): Json => (schema.anyOf?.[0] ?? schema).items;
    expect(membersOf(place).zip).toMatchObject({
      deprecated: true,
      description: 'Deprecated as of 2026-11-01. Use `place.city` instead.',
    });
    expect(membersOf(place).city).not.toHaveProperty('deprecated');
    expect(membersOf(itemOf(lines)).note).toMatchObject({ deprecated: true });
  }
});

test('the parameters of a deprecated field are marked, and parameters that list fields name the deprecated ones', () => {
  for (const name of ['title', 'title[eq]', 'title[in]'])
    expect(parameter('listPosts', name)).toMatchObject({
      deprecated: true,
      description: expect.stringContaining('Use `headline` instead. It may be removed after 2027-06-01.'),
    });
  expect(parameter('listPosts', 'limit')).not.toHaveProperty('deprecated');
  expect(parameter('listPosts', 'sort').description).toMatch(/ Deprecated: `title`\.$/);
  expect(parameter('readPost', 'fields').description).toMatch(/ Deprecated: `title`, `author`, `status`, `price`\.$/);
  expect(parameter('readPost', 'include').description).toMatch(/ Deprecated: `author`\.$/);
  expect(parameter('readNote', 'include').description).toMatch(/ Deprecated: `post\.author`\.$/);
  expect(parameter('readPlain', 'fields').description).not.toMatch(/Deprecated/);
});

test('the headers of an announcement are documented in every response of the operations that may have them, and in no other', () => {
  const announcing = [
    'createPost',
    'getPostsOld',
    'listNotes',
    'listPosts',
    'openStream',
    'readNote',
    'readPost',
    'updatePost',
  ];
  const headersOf = (response: Json) => Object.keys(resolve(response).headers ?? {});
  for (const { id, spec } of operations.values()) {
    const names = Object.values(spec.responses as Json).map((response) => headersOf(response));
    const expected = ['Deprecation', 'Sunset', 'Link'].map((name) => [name, announcing.includes(id)]);
    for (const found of names)
      expect([id, expected.map(([name]) => [name, found.includes(name as string)])]).toEqual([id, expected]);
  }
  for (const name of ['Deprecation', 'Sunset', 'Link'])
    expect(document.components.headers[name]).toMatchObject({
      description: expect.any(String),
      schema: { type: 'string' },
    });
});

test('a response has only headers that the document describes', async () => {
  const { headers } = await fetch(`${url}/api/posts/old`);
  const pattern = new RegExp(document.components.headers.Deprecation.schema.pattern);
  expect(headers.get('deprecation')).toMatch(pattern);
});
