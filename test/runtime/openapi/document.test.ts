import { expect, test } from 'vitest';
import { createApp, defineResource, defineUser, f } from '../../../src/index.ts';
import { readEnvironment } from '../../../src/platform/settings/environment.ts';
import { readSettings } from '../../../src/platform/settings/settings.ts';
import { assembleApp } from '../../../src/runtime/assemble.ts';
import { startTestApp } from '../../support/app.ts';
import { type Json, readContract } from './contract.ts';
import { everyApp, SECRET } from './every-app.ts';
import { faultsOf } from './validators.ts';

const { url, call, env } = await startTestApp(everyApp);
const ABOUT = { title: 'Shop', version: '2.1.0', description: 'All of it' };
const place = defineResource('place', { fields: { spots: f.array(f.object({ at: f.object({ x: f.number() }) })) } });
const small = { resources: [defineUser(), place] };
const other = {
  stripping: await startTestApp({ ...small, settings: { unknownFields: 'strip', openapi: ABOUT } }),
  withoutDocs: await startTestApp({ ...small, settings: { openapi: { docs: false } } }),
  withoutAny: await startTestApp({ ...small, settings: { openapi: { enabled: false } } }),
};
const { document, operations, resolve } = await readContract(url);
const { schemas } = document.components;
const at = (id: string): Json => operations.get(id)!.spec;
const parameters = (id: string): Json[] => (at(id).parameters ?? []).map(resolve);
const parameter = (id: string, name: string) => parameters(id).find((one) => one.name === name);
const codes = (id: string, status: number | string): string[] =>
  resolve(at(id).responses[status]).content['application/json'].schema.properties.error.properties.code.enum;

test('two validators find no errors in the document of an app that uses every feature', async () => {
  expect(document.openapi).toMatch(/^3\.1\./);
  expect(await faultsOf(document)).toEqual([]);
});

test('every mounted route is documented, except hidden routes and the routes that they replace', async () => {
  const options = { resources: everyApp.resources, extensions: everyApp.extensions, transports: [] };
  const assembly = assembleApp(options, readEnvironment(env), readSettings({}))!;
  await assembly.close();
  const mounted = assembly.parts.routes!.filter((route) => !route.hidden);
  const plain = (path: string) => path.replaceAll(/[:*]\w+|\{\w+\}/g, ':');
  const expected = mounted.flatMap(({ method, path }) =>
    (path.includes('{/') ? [path.replace(/\{(.*)\}/, '$1'), path.replace(/\{.*\}/, '')] : [path]).map(
      (one) => `${method} ${plain(`/api${one}`)}`,
    ),
  );
  const documented = [...operations.values()].map(({ method, path }) => `${method} ${plain(path)}`);
  expect(documented.sort()).toEqual(expected.sort());
  expect(JSON.stringify(document)).not.toMatch(/secret-door|"put":\{"operationId":"update/);
});

test('the document is public, compressed and can be revalidated', async () => {
  const first = await fetch(`${url}/api/openapi.json`, { headers: { 'accept-encoding': 'gzip' } });
  expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(first.headers.get('content-encoding')).toBe('gzip');
  const tag = first.headers.get('etag')!;
  const again = await fetch(`${url}/api/openapi.json`, {
    headers: { 'accept-encoding': 'gzip', 'if-none-match': tag },
  });
  expect(again.status).toBe(304);
  const plain = await fetch(`${url}/api/openapi.json`, { headers: { 'accept-encoding': 'identity' } });
  expect(plain.headers.get('content-encoding')).toBe(null);
  expect(plain.headers.get('etag')).not.toBe(tag);
  expect(await plain.text()).toBe(await first.text());
  const head = await fetch(`${url}/api/openapi.json`, { method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
  expect((await call('POST', '/api/openapi.json')).status).toBe(405);
});

const IN = ['create', 'update'];
const ALL = ['read', 'create', 'update'];
test.each<[string, string, string[]]>([
  ['thing', 'title', ALL],
  ['thing', 'hidden', []],
  ['thing', 'pin', IN],
  ['thing', 'stamp', ['read']],
  ['thing', 'author', ['read']],
  ['thing', 'slug', ['read', 'create']],
  ['thing', 'word', ['create']],
  ['thing', 'staff', ALL],
  ['thing', 'watched', ALL],
  ['thing', 'sealed', ALL],
  ['thing', 'id', ALL],
  ['thing', 'createdAt', ALL],
  ['note', 'keeper', ['read']],
  ['note', 'id', ALL],
  ['note', 'createdAt', IN],
  ['vault', 'label', ['read']],
  ['vault', 'latch', []],
  ['thing', 'closed', ['read']],
  ['user', 'password', ['create', 'register']],
  ['user', 'roles', ALL],
  ['user', 'email', ['read', 'create', 'register']],
])('the field %s.%s is documented in these schemas and no others: %j', (resource, field, views) => {
  const name = resource[0]!.toUpperCase() + resource.slice(1);
  // Thing gets the name ThingCreate2, because another resource is called thing-create.
  const create = resource === 'thing' ? 'ThingCreate2' : `${name}Create`;
  const schema = { read: name, create, update: `${name}Update`, register: `${name}Register` };
  const found = Object.entries(schema).filter(([, key]) => schemas[key]?.properties[field] !== undefined);
  const expected = resource === 'user' && views === ALL ? [...ALL] : views;
  expect(found.map(([view]) => view).filter((view) => view !== 'register' || expected.includes(view))).toEqual(
    expected,
  );
});

test('a hidden field does not appear in the document, neither by name nor by value', () => {
  const text = JSON.stringify(document);
  for (const part of ['"hidden"', SECRET, '"latch"', 'xml']) expect(text).not.toContain(part);
});

test('fields that are always set are required in responses; fields that must be sent are required in bodies', () => {
  expect(schemas.Thing.required).toEqual(['id', 'title', 'mode', 'createdAt', 'updatedAt']);
  expect(schemas.ThingCreate2.required).toEqual(['title']);
  expect(schemas.ThingUpdate.required).toBe(undefined);
  expect(schemas.Note.required).toEqual(['id', 'text', 'about']);
  expect(schemas.UserRegister.required).toEqual(['name', 'email', 'password']);
  expect(Object.keys(schemas.UserRegister.properties)).not.toContain('status');
});

test('constraints, descriptions, examples and defaults come from the declaration', () => {
  const { properties } = schemas.ThingCreate2;
  expect(properties.title).toEqual({
    type: 'string',
    minLength: 1,
    maxLength: 50,
    description: 'What it is called',
    examples: ['A'],
  });
  expect(properties.amount.anyOf).toEqual([{ type: 'integer', minimum: -5, maximum: 1000 }, { type: 'null' }]);
  expect(properties.kind.anyOf[0]).toEqual({ type: 'string', enum: ['a', 'b', 'c'], default: 'a' });
  expect(properties.mode).toEqual({ allOf: [{ type: 'string', enum: ['on', 'off'] }, { default: 'on' }] });
  expect(properties.place.anyOf[0].properties.zip.anyOf[0].default).toBe('0000');
  expect(JSON.stringify(schemas.Thing)).not.toContain('"default"');
  expect(JSON.stringify(schemas.ThingUpdate.properties.kind)).not.toContain('"default"');
  expect(properties.word.writeOnly).toBe(true);
  expect(properties.staff.description).toBe('Can be set only by `admin`.');
  expect(schemas.Thing.properties.staff.description).toBe('Visible only to `admin`.');
  expect(schemas.Thing.properties.author.readOnly).toBe(true);
  for (const field of ['mail', 'phone']) expect(schemas.Thing.properties[field]['x-personal-data']).toBe(true);
  expect(schemas.Thing.properties.title['x-personal-data']).toBe(undefined);
  expect(schemas.Thing.description).toBe('A thing of every kind');
  expect(schemas.ThingCreate2.additionalProperties).toBe(false);
});

test('the pattern of a trimmed text is in bodies and responses, the pattern of an upper-cased text only in responses', () => {
  const inBody = (name: string, field: string) => schemas[name].properties[field].anyOf[0].pattern;
  for (const name of ['ThingCreate2', 'ThingUpdate']) {
    expect(inBody(name, 'badge')).toBe('^[a-z]{1,5}-[0-9]$');
    expect(inBody(name, 'shout')).toBe(undefined);
  }
  expect(schemas.Thing.properties.badge.pattern).toBe('^[a-z]{1,5}-[0-9]$');
  expect(schemas.Thing.properties.shout.pattern).toBe('^[A-Z]*$');
});

test('lists and reads are documented with the full record, of which `fields` returns a subset', () => {
  const data = (id: string) => at(id).responses[200].content['application/json'].schema.properties.data;
  expect(data('listThings')).toEqual({ type: 'array', items: { $ref: '#/components/schemas/Thing' } });
  expect(data('readThing')).toEqual({ $ref: '#/components/schemas/Thing' });
  expect(JSON.stringify(document)).not.toContain('Selection');
  for (const id of ['listThings', 'readThing']) expect(parameter(id, 'fields')!.description).toContain('subset');
});

test('the automatic fields of a record may be sent back and are ignored', () => {
  for (const view of ['NoteCreate', 'NoteUpdate', 'UserRegister']) {
    for (const name of ['id', 'createdAt', 'updatedAt']) {
      expect(schemas[view].properties[name]).toEqual({
        description: expect.stringContaining('Ignored'),
        readOnly: true,
      });
    }
  }
});

test('a reference is an id or the record that it refers to, alone and in an array', () => {
  const user = { $ref: '#/components/schemas/User' };
  expect(schemas.Thing.properties.author.oneOf[1]).toEqual(user);
  expect(schemas.Thing.properties.friends.items.oneOf).toEqual([{ type: 'string', pattern: '^[0-9a-f]{24}$' }, user]);
  expect(schemas.ThingUpdate.properties.friends.anyOf[0].items.oneOf).toBe(undefined);
});

test('a list accepts each filterable field with each of its operators, and nothing else', () => {
  const names = parameters('listThings').map(({ name }) => name);
  const of = (field: string) => names.filter((name) => name === field || name.startsWith(`${field}[`));
  expect(of('amount')).toEqual([
    'amount',
    ...['eq', 'ne', 'in', 'nin', 'exists', 'gt', 'gte', 'lt', 'lte'].map((op) => `amount[${op}]`),
  ]);
  expect(of('numbers')).toEqual(['numbers[all]', 'numbers[exists]']);
  expect(of('data')).toEqual(['data[exists]']);
  for (const field of ['body', 'pin', 'hidden', 'sealed', 'word', 'site']) expect(of(field)).toEqual([]);
  expect(parameter('listThings', 'amount[in]')).toMatchObject({
    style: 'form',
    explode: false,
    schema: { type: 'array', maxItems: 1000 },
  });
  expect(parameter('listThings', 'kind')!.schema).toEqual({ type: 'string', enum: ['a', 'b', 'c'] });
  expect(parameter('listThings', 'sort')!.schema.items.enum).toEqual(
    [
      ...['title', 'amount', 'at', 'staff', 'createdAt', 'updatedAt'],
      // The sortable fields of the references that lists can be filtered by.
      ...['other.title', 'other.amount', 'other.at', 'other.createdAt', 'other.updatedAt'],
      ...['author.name', 'author.createdAt', 'author.updatedAt'],
    ].flatMap((name) => [name, `-${name}`]),
  );
  expect(of('other.amount')).toEqual(['other.amount']);
  expect(of('author.password')).toEqual([]);
  expect(parameter('listThings', 'fields')!.schema.items.enum).toEqual(
    Object.keys(schemas.Thing.properties).sort((a, b) => order(a) - order(b)),
  );
  expect(parameter('listThings', 'limit')!.schema).toEqual({ type: 'integer', minimum: 1, maximum: 100, default: 20 });
  expect(parameter('listThings', 'include')!.schema.items.enum).toEqual([
    'other',
    'friends',
    'author',
    'other.friends',
    'other.author',
  ]);
  expect(names).toEqual(expect.arrayContaining(['q', 'page', 'after', 'count']));
  expect(parameters('readThing').map(({ name }) => name)).toEqual(['id', 'fields', 'include', 'If-None-Match']);
  // A field called count takes precedence over the parameter of that name.
  expect(parameter('listNotes', 'count')!.schema.type).toBe('integer');
});
/** In the order of the parser: the automatic fields first. */
const order = (name: string) =>
  ['id', 'createdAt', 'updatedAt'].indexOf(name) + (['id', 'createdAt', 'updatedAt'].includes(name) ? -10 : 1);

test('a route lists its authentication methods and the scope that it requires', () => {
  expect(document.components.securitySchemes).toMatchObject({
    session: { type: 'http', scheme: 'bearer' },
    apiKey: { type: 'http', scheme: 'bearer' },
  });
  expect(at('listThings').security).toEqual([]);
  expect(at('listUsers').security).toEqual([{ session: [] }, { apiKey: ['users:read'] }]);
  expect(at('createThing').security).toEqual([{ session: [] }, { apiKey: ['things:write'] }]);
  expect(at('createThing').description).toContain('needs the scope `things:write` or `things:*` or `*`');
  expect(at('login').security).toEqual([]);
  expect(at('updateNote').security).toEqual([{ session: [] }, { apiKey: ['deep:write'] }]);
  expect(at('readMe').security).toEqual([{ session: [] }, { apiKey: ['auth:read'] }]);
  expect(at('createApiKey').description).toContain('API keys are not accepted');
  expect(at('createApiKey')['x-required-scope']).toBeUndefined();
  expect(at('createThing')['x-required-scope']).toBe('things:write');
  expect(at('runProbe')['x-required-scope']).toBe('probe:run');
  expect(at('runProbe').description).toContain('`probe:run`');
  expect(at('createThing').description).toContain('`authenticated`');
  expect(at('createThing')['x-policy']).toBe('authenticated');
});

test.each<[string, number | string, string[]]>([
  ['listThings', 400, ['BAD_REQUEST']],
  ['createThing', 400, ['BAD_REQUEST', 'INVALID_JSON']],
  ['createThing', 409, ['CONFLICT']],
  ['createThing', 422, ['VALIDATION_ERROR', 'IDEMPOTENCY_KEY_REUSED']],
  ['updateThing', 412, ['PRECONDITION_FAILED']],
  ['readThing', 404, ['NOT_FOUND']],
  ['createWebhook', 409, ['LIMIT_REACHED']],
  ['login', 403, ['FORBIDDEN']],
  ['login', 429, ['RATE_LIMITED']],
  ['readMe', 401, ['UNAUTHORIZED']],
  ['readMe', 503, ['UNAVAILABLE']],
])('%s returns %s with the codes %j', (id, status, expected) => {
  expect(codes(id, status)).toEqual(expected);
});

test('only a route whose code may return any error is documented with any status', () => {
  const open = [...operations.keys()].filter((id) => '4XX' in at(id).responses);
  expect(open.sort()).toEqual(
    [
      'createNote',
      'deleteNote',
      'echoThing',
      'failsThings',
      'getProbe',
      'postToThing',
      'replaceThingsSettings',
      'updateNote',
      'updateThingsSettings',
      'deleteThingPartByPart',
    ].sort(),
  );
  expect(codes('echoThing', '4XX')).toContain('LIMIT_REACHED');
});

test('responses document their headers', () => {
  const headers = (id: string, status: number) => Object.keys(resolve(at(id).responses[status]).headers);
  expect(headers('readThing', 200)).toEqual(expect.arrayContaining(['X-Request-Id', 'ETag', 'RateLimit-Remaining']));
  expect(headers('createThing', 201)).toContain('Idempotency-Replayed');
  expect(headers('createThing', 429)).toEqual(expect.arrayContaining(['Retry-After', 'RateLimit-Reset']));
  expect(headers('createThing', 503)).toContain('Retry-After');
  expect(headers('readMe', 200)).not.toContain('ETag');
  for (const status of [400, 401, 404, 409, 429, 500, '4XX']) {
    expect(headers('postToThing', status as number)).toContain('RateLimit-Remaining');
  }
});

test('bodies and responses of custom routes come from their schemas, whatever the library', () => {
  const body = (id: string) => at(id).requestBody?.content['application/json'].schema;
  const data = (id: string, status = 200) =>
    at(id).responses[status].content['application/json'].schema.properties.data;
  expect(body('retitleThing')).toMatchObject({ properties: { title: { maxLength: 50 } }, additionalProperties: false });
  expect(data('retitleThing')).toEqual({ $ref: '#/components/schemas/Thing' });
  expect(body('updateThingsSettings')).toEqual({ type: 'object', properties: { dark: { type: 'boolean' } } });
  expect(body('replaceThingsSettings')).toEqual({ type: 'object', additionalProperties: true });
  // Without an input schema any JSON is accepted.
  expect(body('echoThing')).toEqual({});
  expect(data('getThingsStats').properties.newest.anyOf[0]).toEqual({ $ref: '#/components/schemas/Thing' });
  expect(parameter('getThingsStats', 'since')!.schema).toMatchObject({ type: 'string', format: 'date' });
  expect(data('runProbe', 202)).toMatchObject({ properties: { ok: { type: 'boolean' } } });
  // The schema is recursive: it refers to itself.
  expect(resolve(body('treeThings')).properties.children.items).toEqual(body('treeThings'));
  expect(Object.keys(at('getProbe').responses)).toEqual(expect.arrayContaining(['200', '204']));
  expect(Object.keys(at('logout').responses)).not.toContain('200');
});

test('routes that differ only in the name of a parameter share their path', () => {
  expect(operations.get('postToThing')!.path).toBe('/api/things/{id}');
  expect(operations.get('readThing')!.path).toBe('/api/things/{id}');
  expect(operations.get('getThingsPagedListByPage')!.path).toBe('/api/things/paged/list/{page}');
  expect(operations.get('getThingsPagedListByPage2')!.path).toBe('/api/things/paged/list');
});

test('title, version and description come from the settings; if unknown fields are stripped, bodies may have more fields', async () => {
  const contract = await readContract(other.stripping.url);
  expect(contract.document.info).toEqual(ABOUT);
  const { UserCreate, PlaceCreate } = contract.document.components.schemas;
  expect(UserCreate).not.toHaveProperty('additionalProperties');
  expect(JSON.stringify(PlaceCreate)).not.toContain('additionalProperties');
});

test('the setting turns off the reference, or both the reference and the document', async () => {
  const statuses = (at: string) =>
    Promise.all(
      ['openapi.json', 'docs', 'docs/start.js'].map(async (path) => (await fetch(`${at}/api/${path}`)).status),
    );
  expect(await statuses(other.withoutDocs.url)).toEqual([200, 404, 404]);
  expect(await statuses(other.withoutAny.url)).toEqual([404, 404, 404]);
});

/** The configuration errors of an app with these custom routes. */
function startupError(routes: Parameters<typeof defineResource>[1]['routes']): string {
  try {
    const resources = [defineUser(), defineResource('post', { fields: { a: f.string() }, ...(routes && { routes }) })];
    createApp({ resources }, env).close();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

test('two routes with one operationId, or an invalid method name, prevent the start', () => {
  const handler = () => 1;
  expect(startupError((route) => [route.get('/x', { operationId: 'listPosts' }, handler)])).toContain(
    'route GET /posts/x and route GET /posts share the operationId "listPosts"; set operationId on one of them',
  );
  expect(startupError((route) => [route.post('/a-b', handler), route.post('/aB', handler)])).toContain('"aBPosts"');
  expect(startupError((route) => [route.get('/x', { operationId: 'list posts' }, handler)])).toContain(
    'operationId "list posts" must look like publishPost',
  );
  const twice = { tags: ['x'] };
  expect(startupError((route) => [route.get('/x', twice, handler), route.get('/y', twice, handler)])).toBe('');
  // A custom route with the path of a CRUD route replaces it.
  expect(startupError((route) => [route.get('/', { operationId: 'listPosts' }, handler)])).toBe('');
});

test('the description, tags and summary of a route are in the document', () => {
  expect(at('getThingsStats').description).toContain('How many there are.');
  expect(at('runProbe').tags).toEqual(['probe']);
  expect(at('runProbe').summary).toBe('Run the probe');
});

test('dates and times are described by their format, without a regular expression', () => {
  const found: Json[] = [];
  const collect = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    if (['date', 'date-time', 'time', 'duration'].includes((part as Json).format)) found.push(part as Json);
    for (const one of Object.values(part)) collect(one);
  };
  collect(document);
  expect(new Set(found.map(({ format }) => format))).toEqual(new Set(['date', 'date-time']));
  expect(found.filter(({ pattern }) => pattern !== undefined)).toEqual([]);
});
