// For any request: no 5xx, no undeclared field, no field hidden from the viewer, and no database error text.
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { anyCharacter, anyQuery, anyUrl } from '../../support/any-text.ts';
import { startTestApp } from '../../support/app.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';

const SECRET = 'S3CRET-VALUE';
const thing = defineResource('thing', {
  fields: {
    title: f.string().max(50).filterable().sortable().searchable(),
    body: f.text().searchable(),
    mail: f.email().filterable().visibleTo('owner'),
    site: f.url().unique(),
    count: f.integer().min(-5).filterable().sortable(),
    price: f.number().filterable(),
    amount: f.decimal({ precision: 12, scale: 2 }).filterable().sortable(),
    live: f.boolean().filterable(),
    at: f.date().filterable().sortable(),
    kind: f.enum(['a', 'b']).default('a').filterable(),
    tags: f.array(f.string()).filterable(),
    numbers: f.array(f.integer()).max(3).filterable(),
    place: f.object({ city: f.string().required(), deep: f.object({ n: f.number() }) }),
    data: f.json().filterable(),
    sealed: f.string().encrypted(),
    hidden: f.string().hidden().default(SECRET),
    pin: f.string().writeOnly(),
    staff: f.string().visibleTo('admin').writableBy('admin').filterable().sortable().searchable(),
    other: f.ref('thing').filterable().populate(),
    author: f.ref('user').owner().filterable(),
  },
  policies: { list: 'public', read: 'public', create: 'authenticated', update: 'authenticated', delete: 'owner' },
  routes: (route) => [route.post('/:id/echo', { policy: 'public' }, ({ doc }) => [doc])],
});
const user = defineUser();
const { app, call, person } = await startTestApp({ resources: [user, thing] });
const ann = await person('Ann');
const base = await app.service('thing').create({ title: 'base', staff: SECRET, pin: SECRET, author: ann.id });

// Record statuses as they arrive, so that a 5xx that the client would retry still fails the test.
const statuses = new Map<number, number>();
afterAll(() => expect([...statuses.keys()].filter((status) => status >= 500)).toEqual([]));

const VISIBLE: Record<string, Set<string>> = {
  thing: new Set([
    ...Object.keys(thing.fields).filter((name) => !['hidden', 'pin', 'staff'].includes(name)),
    'id',
    'createdAt',
    'updatedAt',
  ]),
  user: new Set(['id', 'name', 'email', 'roles', 'status', 'avatarUrl', 'createdAt', 'updatedAt']),
};

function checkRecord(record: Record<string, unknown>, resource: 'thing' | 'user'): void {
  for (const name of Object.keys(record)) expect([...VISIBLE[resource]!]).toContain(name);
  for (const [name, target] of [
    ['other', 'thing'],
    ['author', 'user'],
  ] as const) {
    const value = record[name];
    if (resource === 'thing' && typeof value === 'object' && value !== null)
      checkRecord(value as Record<string, unknown>, target);
  }
}

async function ask(as: typeof call, method: string, path: string, body?: string): Promise<void> {
  const response = await as(method, path, body);
  statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
  expect(response.status, `${method} ${path} ${body ?? ''}`).toBeLessThan(500);
  const text = JSON.stringify(response.body ?? '');
  expect(text).not.toMatch(/pg_|syntax error|relation "|node_modules|\$scrypt|v1\.[0-9a-f]{8}\./);
  if (response.status >= 400) {
    expect(Object.keys(response.body)).toEqual(['error']);
    expect(response.body.error).toMatchObject({
      code: expect.any(String),
      message: expect.any(String),
      requestId: expect.any(String),
    });
    return;
  }
  expect(text).not.toContain(SECRET);
  const data = response.body?.data;
  if (!path.startsWith('/api/things')) return;
  for (const record of Array.isArray(data) ? data : data === undefined ? [] : [data]) checkRecord(record, 'thing');
}

const names = [
  ...Object.keys(thing.fields),
  'id',
  '_id',
  'createdAt',
  '__proto__',
  'constructor',
  'page',
  'limit',
  'sort',
  'q',
  'fields',
  'include',
  'after',
  'count',
  'password',
  '',
];
const operators = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'all', 'exists', 'like', '__proto__', '', '$ne'];
const words = fc.constantFrom(
  'a',
  'base',
  'true',
  'false',
  '1',
  '-1',
  '1.5',
  '1e400',
  '2026-01-01',
  'NaN',
  'null',
  '',
  ' ',
  ',',
  "'",
  '"',
  '\\',
  '%',
  '_',
  '{',
  '}',
  '{a,b}',
  '\u0000',
  '\ud800',
  '💚',
  '$1',
  ';',
  '--',
  '/*',
  SECRET,
  base.id,
  ann.id,
  '-title',
  'title,-count',
  'other,author',
  'other.author,author',
  'none',
  'hidden',
  'staff',
  '-staff',
  'x'.repeat(3000),
);
const text = fc.oneof(
  words,
  fc.string({ maxLength: 20, unit: anyCharacter }),
  fc.array(words, { maxLength: 4 }).map((list) => list.join(',')),
);
const encoded = (value: string) => encodeURIComponent(value.toWellFormed());
const parameter = fc
  .record({
    name: fc.oneof(fc.constantFrom(...names), fc.string({ maxLength: 5 })),
    operator: fc.option(fc.constantFrom(...operators)),
    value: text,
  })
  .map(({ name, operator, value }) => `${encoded(name)}${operator === null ? '' : `[${operator}]`}=${encoded(value)}`);
const query = fc.oneof(
  fc.array(parameter, { minLength: 1, maxLength: 3 }).map((list) => list.join('&')),
  anyQuery,
);

const odd = fc.constantFrom(
  null,
  true,
  '',
  'x',
  '\u0000',
  '\ud800',
  0,
  -0,
  1.5,
  1e300,
  2 ** 53,
  '2026-01-01',
  'a@b.co',
  'https://a.co',
  base.id,
  [],
  {},
  ['x'],
  [1],
  { city: 'x' },
  SECRET,
);
const anyJson = fc.oneof(odd, fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<unknown>);
const words50 = fc.string({ maxLength: 20, unit: 'grapheme' });
const right = {
  title: words50,
  body: words50,
  mail: fc.constantFrom('a@b.co', ' Ann@Example.com'),
  site: anyUrl,
  count: fc.maxSafeNat(),
  price: fc.double({ noNaN: true, noDefaultInfinity: true }),
  at: fc
    .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
    .map((date) => date.toISOString()),
  tags: fc.array(words50),
  numbers: fc.array(fc.maxSafeInteger(), { maxLength: 3 }),
  place: fc.record({
    city: fc.string({ unit: 'grapheme' }).map((text) => `x${text}`),
    deep: fc.record({ n: fc.integer() }),
  }),
  data: fc.jsonValue({ maxDepth: 6 }),
  sealed: words50,
};
const usual: Record<string, fc.Arbitrary<unknown>> = { __proto__: null as never, ...right };
const fieldsBody = fc.record(
  Object.fromEntries(
    [...names.filter((name) => name !== '__proto__'), 'nope'].map((name) => [
      name,
      fc.oneof(usual[name] ?? odd, anyJson),
    ]),
  ),
  { requiredKeys: [] },
);
const good = fc.record(right, { requiredKeys: [] });
const body = fc.oneof(
  fieldsBody.map((value) => JSON.stringify(value)),
  good.map((value) => JSON.stringify(value)),
  anyJson.map((value) => JSON.stringify(value)),
  fieldsBody.map((value) => JSON.stringify(value).replace('"title"', '"__proto__"')),
  fc.string({ maxLength: 30 }),
);

test('any query string of a list or a read is handled without a leak or a 5xx', async () => {
  const property = fc.asyncProperty(query, fc.boolean(), fc.boolean(), (text, signedIn, one) =>
    ask(signedIn ? ann.call : call, 'GET', `/api/things${one ? `/${base.id}` : ''}?${text}`),
  );
  await fc.assert(property, { numRuns: scaleRuns(100) });
  expect(statuses.get(200)).toBeGreaterThan(5);
});

test('any body of a create or an update is handled without a leak or a 5xx', async () => {
  const property = fc.asyncProperty(body, fc.boolean(), (text, creating) =>
    creating ? ask(ann.call, 'POST', '/api/things', text) : ask(ann.call, 'PATCH', `/api/things/${base.id}`, text),
  );
  await fc.assert(property, { numRuns: scaleRuns(100) });
  expect(statuses.get(201)).toBeGreaterThan(5);
});

test('accepted values are returned as sent, with strings trimmed and in NFC, from the create and the read alike', async () => {
  const stored = (text: string) => text.normalize('NFC').trim();
  const property = fc.asyncProperty(good, async (value) => {
    const made = await ann.call('POST', '/api/things', value);
    // A json value may be impossible to store, and a unique site may already be taken.
    if (made.status === 422 || made.status === 409) return;
    expect(made.status).toBe(201);
    const { id, title, sealed, tags, count, numbers, at, price, data, place } = made.body.data;
    expect({ title, sealed, tags, count, numbers, at, place, price }).toEqual({
      title: value.title === undefined ? undefined : stored(value.title),
      sealed: value.sealed === undefined ? undefined : stored(value.sealed),
      tags: value.tags?.map(stored),
      count: value.count,
      numbers: value.numbers,
      at: value.at,
      place: value.place === undefined ? undefined : { ...value.place, city: stored(value.place.city) },
      price: value.price === 0 ? 0 : value.price,
    });
    if (value.data !== undefined && value.data !== null) expect(data).toEqual(JSON.parse(JSON.stringify(value.data)));
    expect((await ann.call('GET', `/api/things/${id}`)).body.data).toEqual(made.body.data);
  });
  await fc.assert(property, { numRuns: scaleRuns(50) });
});

test('any JSON to any route is handled without a leak or a 5xx', async () => {
  const routes: [string, string][] = [
    ['POST', '/api/auth/register'],
    ['POST', '/api/auth/login'],
    ['PATCH', '/api/auth/me'],
    ['POST', '/api/auth/devices'],
    ['POST', '/api/auth/devices/unregister'],
    ['POST', '/api/auth/devices/opened'],
    ['POST', '/api/users'],
    ['PATCH', `/api/users/${ann.id}`],
    ['POST', `/api/things/${base.id}/echo`],
    ['DELETE', '/api/things/0123456789abcdef01234567'],
  ];
  const person = fc.record(
    {
      name: anyJson,
      email: anyJson,
      password: anyJson,
      roles: anyJson,
      token: anyJson,
      platform: anyJson,
      data: anyJson,
    },
    { requiredKeys: [] },
  );
  const property = fc.asyncProperty(
    fc.constantFrom(...routes),
    fc.oneof(person, anyJson),
    fc.boolean(),
    ([method, path], value, signedIn) => ask(signedIn ? ann.call : call, method, path, JSON.stringify(value)),
  );
  await fc.assert(property, { numRuns: scaleRuns(100) });
});

test('any path below a resource is handled without a leak or a 5xx', async () => {
  const segment = fc
    .oneof(text, fc.constantFrom('..', '.', '%00', '%2e%2e', base.id, 'echo'))
    .map((part) => encoded(part).slice(0, 500));
  const property = fc.asyncProperty(
    fc.array(segment, { maxLength: 3 }),
    fc.constantFrom('GET', 'PATCH', 'DELETE'),
    (parts, method) =>
      ask(
        call,
        method,
        `/api/things${parts.map((part) => `/${part}`).join('')}`,
        method === 'PATCH' ? '{}' : undefined,
      ),
  );
  await fc.assert(property, { numRuns: scaleRuns(50) });
});
