import { expect, test } from 'vitest';
import { z } from 'zod';
import type { AnyField } from '../../../src/declare/field.ts';
import type { RouteBuilder } from '../../../src/declare/route.ts';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { readSettings } from '../../../src/platform/settings/settings.ts';
import {
  getStartupError,
  getStartupErrorOfField as withField,
  getStartupErrorOfOptions as withOptions,
} from '../../support/startup-error.ts';

test('the errors of all declarations are reported together, each with its resource and field', () => {
  const message = getStartupError({
    resources: [
      defineUser(),
      defineResource('post', {
        fields: { id: f.string(), pin: f.string().encrypted().filterable(), link: f.ref('nothing') },
        policies: { read: 'owner' },
      }),
      defineResource('note', { fields: { one: f.ref('user').owner(), two: f.ref('user').owner() } }),
    ],
    settings: { unknownFields: 'drop' as never },
  });
  expect(message.split('\n').slice(1)).toEqual([
    expect.stringContaining('settings.unknownFields'),
    expect.stringMatching(/resource "post": field "id": the name is reserved/),
    expect.stringMatching(/resource "post": field "pin": encrypted\(\) and filterable cannot be combined/),
    expect.stringMatching(/resource "post": field "link": ref\("nothing"\) names an unknown resource/),
    expect.stringMatching(/resource "post": policies.read: "owner" needs an owner field/),
    expect.stringMatching(/resource "note": several fields are marked owner\(\): "one" and "two"/),
  ]);
});

test.each(['id', '_id', 'createdAt', 'updatedAt', '__v'])('the field name %s is reserved', (name) => {
  expect(withOptions({ fields: { [name]: f.string() } })).toContain(`field "${name}"`);
});

test.each(['constructor', 'toString', '__proto__'])(
  'the field name %s is reserved because every object has it',
  (name) => {
    const fields = Object.fromEntries([[name, f.string()]]);
    expect(withOptions({ fields })).toContain(`field "${name}": the name is reserved`);
  },
);

test.each(['created_at', 'updated_at', 'ID', 'xmin', 'ctid', 'a b', '1st', 'a'.repeat(64)])(
  'the field name %s is refused because it cannot be the name of a column',
  (name) => {
    expect(withOptions({ fields: { [name]: f.string() } })).toContain(`field "${name}"`);
  },
);

const encrypted = () => f.string().encrypted();
test.each<[string, AnyField]>([
  ['encrypted and filterable', encrypted().filterable()],
  ['encrypted and sortable', encrypted().sortable()],
  ['encrypted and searchable', encrypted().searchable()],
  ['encrypted and unique', encrypted().unique()],
  ['encrypted and indexed', encrypted().index()],
  ['an encrypted reference', f.ref('user').encrypted()],
  ['an encrypted id', f.id().encrypted()],
  ['hidden and filterable', f.string().hidden().filterable()],
  ['hidden and sortable', f.string().hidden().sortable()],
  ['writeOnly and searchable', f.string().writeOnly().searchable()],
  ['a hidden reference that is populated', f.ref('user').hidden().populate()],
  [
    'visibleTo(function) and filterable',
    f
      .string()
      .visibleTo(() => true)
      .filterable(),
  ],
  [
    'visibleTo(function) and sortable',
    f
      .string()
      .visibleTo(() => true)
      .sortable(),
  ],
  [
    'visibleTo(function) and searchable',
    f
      .string()
      .visibleTo(() => true)
      .searchable(),
  ],
  ['an invalid policy', f.string().visibleTo('admin & editor')],
  ['owner in visibleTo without an owner', f.string().visibleTo('owner')],
  ['owner in writableBy without an owner', f.string().writableBy('owner')],
  ['an owner that is not a user', f.ref('thing').owner()],
  ['an owner that is not a reference', f.string().owner()],
  ['populate on a string', f.string().populate()],
  ['populate on a list of strings', f.array(f.string()).populate()],
  ['searchable on a number', f.number().searchable()],
  ['pattern on a number', f.number().pattern(/1/)],
  ['min above max', f.string().min(3).max(2)],
  ['a bound that is not a number', f.number().min('x')],
  ['a date bound that is not a date', f.date().min('yesterday')],
  ['an unknown operator', f.string().filterable(['like' as never])],
  ['an operator that the type does not support', f.string().filterable(['all'])],
  ['greater-than on an array', f.array(f.string()).filterable(['gt'])],
  ['json filtered by more than exists', f.json().filterable(['eq'])],
  ['an object filtered by more than exists', f.object({ a: f.string() }).filterable(['eq'])],
  ['a list of objects filtered by value', f.array(f.object({ a: f.string() })).filterable()],
  ['a text filterable without operators', f.text().filterable()],
  ['an enum without values', f.enum([] as never)],
  ['an enum with a repeated value', f.enum(['a', 'a'])],
  ['a default that breaks the rules', f.string().max(3).default('toolong')],
  ['a default of the wrong type', f.integer().default(1.5)],
  ['lower and upper case together', f.string().lowercase().uppercase()],
  ['a password in an object', f.object({ p: f.password() })],
  ['hidden inside an object', f.object({ p: f.string().hidden() })],
  ['visibleTo inside an array', f.array(f.string().visibleTo('admin'))],
  ['filterable inside an object', f.object({ p: f.string().filterable() })],
  ['a default inside an array', f.array(f.string().default('x'))],
  ['an unknown reference inside an array', f.array(f.ref('nothing'))],
  ['an unknown reference inside an object', f.object({ p: f.ref('nothing') })],
  ['hidden and searchable', f.string().hidden().searchable()],
  ['writeOnly and filterable', f.string().writeOnly().filterable()],
  ['writeOnly and sortable', f.string().writeOnly().sortable()],
  ['a write-only reference that is populated', f.ref('user').writeOnly().populate()],
  ['a filterable password', f.password().filterable(['eq'])],
  ['an encrypted password', f.password().encrypted()],
  ['a password with a default', f.password().default('correct horse')],
  ['an encrypted owner', f.ref('user').owner().encrypted()],
  ['hidden and readOnly', f.string().hidden().readOnly()],
  ['writeOnly and readOnly', f.string().writeOnly().readOnly()],
  ['hidden and visibleTo', f.string().hidden().visibleTo('admin')],
  ['writeOnly and visibleTo', f.string().writeOnly().visibleTo('admin')],
  ['hidden and writableBy', f.string().hidden().writableBy('admin')],
  ['readOnly and writableBy', f.string().readOnly().writableBy('admin')],
  ['owner and writableBy', f.ref('user').owner().writableBy('admin')],
  ['owner and writeOnly', f.ref('user').owner().writeOnly()],
  ['visibleTo(undefined)', f.string().visibleTo(undefined as never)],
  ['writableBy(undefined)', f.string().writableBy(undefined as never)],
  ['a policy with an item that is neither text nor function', f.string().visibleTo(['admin', undefined as never])],
  ['a policy keyword in capitals', f.string().visibleTo('Owner')],
  ['required and readOnly without a default', f.string().required().readOnly()],
  ['required and hidden without a default', f.string().required().hidden()],
  [
    'required with a default that is null',
    f
      .string()
      .required()
      .default(null as never),
  ],
  ['unique with a constant default', f.string().unique().default('x')],
  ['a length below 0', f.string().min(-1)],
  ['a length that is not whole', f.text().max(1.5)],
  ['a length as text', f.string().max('5')],
  ['a number bound as text', f.number().min('5')],
  ['a number bound that is a date', f.integer().max(new Date())],
  ['an infinite number bound', f.number().max(Number.POSITIVE_INFINITY)],
  ['an e-mail of at least 255 characters', f.email().min(255)],
  [
    'reversed date bounds',
    f
      .date()
      .min('2026-01-02')
      .max(Date.UTC(2026, 0, 1)),
  ],
  ['reversed item counts', f.array(f.string()).min(2).max(1)],
  ['a maximum above the limit for arrays', f.array(f.string()).min(20_000)],
  ['min on a boolean', f.boolean().min(1)],
  ['max on an enum', f.enum(['a']).max(1)],
  ['min on a password', f.password().min(12)],
  ['pattern on a date', f.date().pattern(/1/)],
  ['trim on a number', f.number().trim()],
  ['uppercase on an e-mail', f.email().uppercase()],
  ['unique on an array', f.array(f.string()).unique()],
  ['unique on an object', f.object({ a: f.string() }).unique()],
  ['sortable on json', f.json().sortable()],
  ['searchable on a date', f.date().searchable()],
  ['index on a list of objects', f.array(f.object({ a: f.string() })).index()],
  ['index on an object', f.object({ a: f.string() }).index()],
  ['searchable on a list of numbers', f.array(f.integer()).searchable()],
  ['searchable on an id', f.id().searchable()],
  ['sortable on an array', f.array(f.string()).sortable()],
  ['uppercase on an e-mail', f.email().uppercase()],
  ['owner on a list of references', f.array(f.ref('user')).owner()],
  ['an invalid pattern', f.string().pattern('^a' as never)],
  ['an invalid check', f.string().check('x' as never)],
  ['an invalid schema', f.string().schema({} as never)],
  ['operators that are not a list', f.string().filterable('eq' as never)],
  ['an empty list of operators', f.string().filterable([])],
  ['an enum with an empty value', f.enum(['a', ''])],
  ['an enum with a number', f.enum(['a', 1 as never])],
  ['an array without an item type', f.array(undefined as never)],
  ['an array of a string instead of a field', f.array('string' as never)],
  ['an object without members', f.object(undefined as never)],
  ['an object with a member that is not a field', f.object({ p: 'string' as never })],
  ['an object with a member named constructor', f.object({ constructor: f.string() as never })],
  ['unique inside an object', f.object({ p: f.string().unique() })],
  ['index inside an array', f.array(f.string().index())],
  ['owner inside an object', f.object({ p: f.ref('user').owner() })],
  ['populate inside an object', f.object({ p: f.ref('user').populate() })],
  ['encrypted inside an array', f.array(f.string().encrypted())],
  ['writeOnly inside an object', f.object({ p: f.string().writeOnly() })],
  ['readOnly inside an array', f.array(f.string().readOnly())],
  ['immutable inside an object', f.object({ p: f.string().immutable() })],
  ['writableBy inside an object', f.object({ p: f.string().writableBy('admin') })],
  ['an error inside an object inside an array', f.array(f.object({ p: f.string().min(3).max(2) }))],
  ['a default inside an object that breaks the rules', f.object({ p: f.string().max(1).default('long') })],
  [
    'a default that breaks a check',
    f
      .integer()
      .check((n) => n > 1)
      .default(1),
  ],
  ['a default that breaks a schema', f.string().schema(z.string().min(3)).default('x')],
  ['a reference to an unknown resource', f.ref(undefined as never)],
  ['a default of an object that breaks the rules', f.object({ p: f.integer() }).default({ p: 1.5 })],
  ['a default of an array that breaks the rules', f.array(f.string().max(1)).default(['long'])],
])('%s is refused, and the error names the field', (_what, field) => {
  expect(withField(field)).toContain('resource "thing": field "a');
});

test.each<[string, object, string]>([
  ['an unknown action in policies', { policies: { lsit: 'public' } }, 'policies.lsit'],
  ['an unknown crud action', { crud: ['list', 'raed'] }, 'crud'],
  ['a path without slash', { path: 'things' }, 'path'],
  ['a path with an upper-case letter', { path: '/Things' }, 'path'],
  ['a built-in path', { path: '/auth' }, 'path'],
  ['a table of the framework', { collection: 'outbox' }, 'collection'],
  ['a default sort by an unknown field', { defaultSort: '-nope' }, 'defaultSort'],
  ['a default sort by a password', { fields: { secret: f.password() }, defaultSort: 'secret' }, 'defaultSort'],
  ['a filterable field with the name of a parameter', { fields: { after: f.date().filterable() } }, 'query parameter'],
  [
    'a default sort by a timestamp that the resource does not have',
    { timestamps: false, defaultSort: '-createdAt' },
    'defaultSort',
  ],
  ['an index of an unknown field', { indexes: [{ fields: ['nope'] }] }, 'indexes'],
  ['an index without fields', { indexes: [{ fields: [] }] }, 'indexes'],
  ['an owner option together with an owner field', { owner: 'a' }, 'owner'],
  ['an unknown hook', { hooks: { beforeSave() {} } }, 'beforeSave'],
  ['an unknown option', { polices: {} }, '"polices" is not an option'],
  ['a resource without fields', { fields: undefined }, 'fields: a resource needs fields'],
  ['fields that are a list', { fields: [f.string()] }, 'fields: must be an object of fields'],
  ['an invalid field', { fields: { a: 'string' } }, 'field "a": it is not a field'],
  ['policies that are a string', { policies: 'admin' }, 'policies: must be'],
  ['a scope that is not a function', { scope: { a: 'x' } }, 'scope: must be a function'],
  ['a hook that is not a function', { hooks: { beforeCreate: true } }, 'hooks.beforeCreate: must be a function'],
  ['routes that are not a function', { routes: [] }, 'routes: must be a function'],
  ['routes that return undefined', { routes: () => undefined }, 'routes: it must return a list of routes'],
  ['routes that return null', { routes: () => null }, 'routes: it must return a list of routes'],
  ['routes that return a promise of a list', { routes: async () => [] }, 'routes: it must return a list of routes'],
  ['an invalid route', { routes: () => [null, {}] }, 'routes[1]: it is not a route'],
  ['a crud that is a string', { crud: 'list' }, 'crud: must be'],
  ['timestamps that are a string', { timestamps: 'no' }, 'timestamps: must be true or false'],
  ['webhooks that are a string', { webhooks: 'no' }, 'webhooks: must be true or false'],
  [
    'an unknown count mode',
    { pagination: { count: 'all' } },
    'pagination: must be an object such as { count: "capped" }',
  ],
  ['an unknown pagination option', { pagination: { limit: 5 } }, 'pagination: must be an object such as'],
  ['indexes that are a list of names', { indexes: ['a'] }, 'indexes: must be a list, such as'],
  [
    'an index with an unknown option',
    { indexes: [{ fields: ['a'], unqiue: true }] },
    'indexes: must be a list, such as',
  ],
  ['an index that names a field twice', { indexes: [{ fields: ['a', '-a'] }] }, 'names a field twice'],
  ...[f.string().encrypted(), f.password(), f.json(), f.object({}), f.array(f.string())].map(
    (field): [string, object, string] => [
      `an index over a field that is ${field.spec.encrypted ? 'encrypted' : field.spec.type.kind}`,
      { fields: { a: field }, indexes: [{ fields: ['a'] }] },
      'indexes: "a" is not a field that can be indexed',
    ],
  ),
  ...[
    f.string().hidden(),
    f.string().writeOnly(),
    f.string().visibleTo('admin'),
    f.string().encrypted(),
    f.password(),
  ].map((field, i): [string, object, string] => [
    `a default sort by a restricted field (${i})`,
    { fields: { a: field }, defaultSort: '-a' },
    'defaultSort: ',
  ]),
  ['a default sort with a repeated field', { defaultSort: 'a,-a' }, 'defaultSort: a field is named twice; keep one'],
  ['a default sort by a property of every object', { defaultSort: 'constructor' }, 'defaultSort'],
  ['an owner that is not a field', { owner: 'nope' }, 'owner: "nope" is not a field'],
  ['an owner that is not a reference', { fields: { a: f.string() }, owner: 'a' }, 'owner: "a" must be a ref("user")'],
  ['a policy with an empty keyword', { policies: { list: 'admin |' } }, 'policies.list: ""'],
  ['an empty policy', { policies: { list: [] } }, 'policies.list: the policy is empty'],
  ['an unknown role', { policies: { update: 'owner | amdin' } }, 'policies.update: "amdin" is not a role'],
  ['an unknown role after role:', { policies: { update: 'role:amdin' } }, 'policies.update: "amdin" is not a role'],
  [
    'an unknown role in visibleTo',
    { fields: { a: f.string().visibleTo('amdin') } },
    'field "a": visibleTo: "amdin" is not a role. Did you mean "admin"?',
  ],
  ['an unknown role in writableBy', { fields: { a: f.string().writableBy('amdin') } }, 'writableBy: "amdin"'],
  ['softDelete', { softDelete: true }, 'softDelete: it requires the extension'],
  ['audit', { audit: true }, 'audit: it requires the extension'],
  ['onOwnerDelete', { onOwnerDelete: 'delete' }, 'onOwnerDelete: it requires the extension'],
  ['personalFields', { personalFields: ['a'] }, 'personalFields: it requires the extension'],
])('%s is refused', (_what, options, named) => {
  expect(withOptions(options)).toContain('resource "thing": ');
  expect(withOptions(options)).toContain(named);
});

// biome-ignore lint/suspicious/noExplicitAny: wrong routes are made on purpose
const withRoute = (add: (route: any) => unknown) => withOptions({ routes: (route: unknown) => [add(route)] });

test.each<[string, Parameters<typeof withRoute>[0], string]>([
  ['an invalid policy', (route) => route.get('/a', { policy: 'admin & editor' }, () => 1), 'GET /things/a'],
  ['a path without slash', (route) => route.get('a', () => 1), '"a"'],
  ['a malformed path', (route) => route.get('/a(', () => 1), '/things/a('],
  ['owner on a route without a record', (route) => route.get('/a', { policy: 'owner' }, () => 1), '"owner" needs'],
  ['an unknown option', (route) => route.get('/a', { polizy: 'public' }, () => 1), 'polizy'],
  [
    'an input that is not a schema',
    (route) => route.post('/a', { input: {} }, () => 1),
    'input: must be a Standard Schema',
  ],
  [
    'a query that is not a schema',
    (route) => route.get('/a', { query: null }, () => 1),
    'query: must be a Standard Schema',
  ],
  ['no handler', (route) => route.get('/a', { policy: 'public' }), 'handler'],
  ['an invalid status', (route) => route.get('/a', { status: 99 }, () => 1), 'status'],
])('a custom route with %s is refused', (_what, add, named) => {
  expect(withRoute(add)).toContain(named);
});

test('a custom route with an unknown role is refused', () => {
  const message = withRoute((route) => route.post('/a', { policy: ['amdin', () => true] }, () => 1));
  expect(message).toContain('route POST /things/a: policy: "amdin" is not a role. Did you mean "admin"?');
});

test('if no user resource lists the roles, any word is a role', () => {
  const thing = defineResource('thing', { fields: {}, policies: { list: 'amdin' } });
  expect(getStartupError({ resources: [thing] })).toBe('');
  expect(getStartupError({ resources: [defineUser({ roles: ['amdin'] }), thing] })).toBe('');
});

test.each(['', 'Super Admin', 'a|b', 'owner', 'Public', 'none', 'role:x', '1st'])('%j cannot be a role', (role) => {
  const message = getStartupError({ resources: [defineUser({ roles: ['user', role] })] });
  expect(message).toContain(`resource "user": field "roles": "${role}"`);
});

test.each<[string, AnyField, string]>([
  ['a text, in which "admin" is in "not-admin"', f.string().writableBy('admin'), 'make it f.array(f.enum([…]))'],
  ['an array of arbitrary texts', f.array(f.string()).writableBy('admin'), 'make it f.array(f.enum([…]))'],
  ['writable by every user', f.array(f.enum(['user', 'admin'])), 'give themselves any role'],
  ['writable by its owner', f.array(f.enum(['user', 'admin'])).writableBy('owner | admin'), 'give themselves any role'],
])("a user's roles cannot be %s", (_what, roles, named) => {
  expect(getStartupError({ resources: [defineUser({ fields: { roles } })] })).toContain(`field "roles": `);
  expect(getStartupError({ resources: [defineUser({ fields: { roles } })] })).toContain(named);
});

test('declaring the same route twice is refused', () => {
  const routes = (route: RouteBuilder) => [route.get('/:id/a', () => 1), route.get('/:key/a', () => 2)];
  const message = withOptions({ routes });
  expect(message).toContain('is declared twice');
});

test('a name, path or table cannot be used twice', () => {
  const twice = [defineResource('ProductCategory', { fields: {} }), defineResource('product-category', { fields: {} })];
  expect(getStartupError({ resources: twice })).toMatch(/name "product-category" is declared twice/);
  const paths = [defineResource('a', { fields: {}, path: '/x' }), defineResource('b', { fields: {}, path: '/x' })];
  expect(getStartupError({ resources: paths })).toMatch(/path "\/x" is declared twice/);
  const tables = [
    defineResource('a', { fields: {}, collection: 'x' }),
    defineResource('b', { fields: {}, collection: 'x' }),
  ];
  expect(getStartupError({ resources: tables })).toMatch(/table "x" is declared twice/);
});

test("names are compared after normalization, and a path below another resource's record is refused", () => {
  for (const name of ['blogPost', 'blog-post', 'blog_post', 'BlogPost', ' blog post ']) {
    const resources = [defineResource('blog-post', { fields: {} }), defineResource(name, { fields: {} })];
    expect(getStartupError({ resources })).toMatch(/path "\/blog-posts" is declared twice/);
  }
  const below = [
    defineResource('post', { fields: {} }),
    defineResource('draft', { fields: {}, path: '/posts/drafts' }),
  ];
  expect(getStartupError({ resources: below })).toMatch(
    /resource "draft": path "\/posts\/drafts" would also match single records of "post"/,
  );
  const apart = [defineResource('post', { fields: {} }), defineResource('draft', { fields: {}, path: '/my/drafts' })];
  expect(getStartupError({ resources: apart })).toBe('');
});

test.each([
  ['an unknown option', { resuorces: [] }, '"resuorces" is not an option of createApp. Did you mean "resources"?'],
  ['no resources', { resources: undefined }, 'resources: must be a list'],
  ['an invalid resource', { resources: [{ fields: {} }] }, 'resources: create each resource with defineResource'],
  ['extensions that are not a list', { extensions: {} }, 'extensions: must be a list'],
  ['transports that are not a list', { transports: {} }, 'transports: must be a list'],
  ['listeners that are not a function', { listeners: {} }, 'listeners: must be a function'],
])('createApp with %s is refused', (_what, options, named) => {
  expect(getStartupError({ resources: [], ...options } as never)).toContain(named);
});

test('accounts require a unique e-mail field', () => {
  const user = defineResource('user', { fields: { email: f.email().required(), password: f.password() } });
  expect(getStartupError({ resources: [user] })).toMatch(/resource "user": field "email": .*unique/);
});

// slow-patterns.test.ts shows which patterns are slow. Refusing one takes more than a second, so there is one case here.
test('a pattern that takes exponential time on a hostile text is refused', () => {
  expect(withField(f.text().pattern(/(a+)+b/))).toContain('pattern');
});

test.each([
  ['a slug', /^[a-z0-9]+(?:-[a-z0-9]+)*$/],
  ['a host name', /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/],
  ['a phone number', /^\+?[0-9 ()-]{6,20}$/],
  ['a version', /^\d+(\.\d+){0,2}$/],
  ['a colour', /^#([0-9a-f]{3}){1,2}$/i],
])('a fast pattern is accepted: %s', (_what, regex) => {
  expect(withField(f.string().max(200).pattern(regex))).toBe('');
});

const wrongRules = [
  ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e10, '10', null].map((limit) => ({ limit, windowMs: 1000 })),
  ...[0, -1, 0.5, 999, 1000.5, Number.NaN, 1e12, 'soon'].map((windowMs) => ({ limit: 10, windowMs })),
  ...[{}, { limit: 10 }, { windowMs: 1000 }, { limit: 10, windowMs: 1000, max: 5 }, 10, 'global', true, null, []],
];

test.each(wrongRules)('%j is not a valid rate limit for a route or in the settings', (rateLimit) => {
  const message = withRoute((route) => route.get('/a', { rateLimit }, () => 1));
  expect(message).toContain("rateLimit: must be 'auth' or { limit, windowMs }: a limit from 1 to a billion");
  expect(message).toContain('a window from 1000 ms to 7 days');
  for (const name of ['global', 'auth']) {
    const settings = { rateLimit: { [name]: rateLimit } };
    expect(getStartupError({ resources: [], settings: settings as never })).toContain(`settings.rateLimit.${name}`);
  }
});

test('the window of a limit may be a text in the settings, and is a number of ms in a route', () => {
  const rateLimit = { limit: 10, windowMs: '1m' as const };
  expect(withRoute((route) => route.get('/a', { rateLimit: rateLimit as never }, () => 1))).toContain(
    'rateLimit: must be',
  );
  expect(() => readSettings({ rateLimit: { global: rateLimit, auth: { limit: 1, windowMs: '7d' } } })).not.toThrow();
  expect(readSettings({ rateLimit: { global: rateLimit } }).rateLimit.global).toEqual({ limit: 10, windowMs: 60_000 });
});

test('valid declarations are accepted', () => {
  for (const rateLimit of ['auth', { limit: 1, windowMs: 1000 }, { limit: 1e9, windowMs: 604_800_000 }]) {
    expect(withRoute((route) => route.get('/a', { rateLimit }, () => 1))).toBe('');
  }
  expect(withField(f.array(f.object({ a: f.string() })).filterable(['exists']))).toBe('');
  expect(withField(f.object({ a: f.string().required().max(3) }).filterable(['exists']))).toBe('');
  expect(withField(f.text().filterable(['eq', 'gt']))).toBe('');
  expect(withField(f.ref('Thing').populate())).toBe('');
  expect(withField(f.string().required().readOnly().default('x'))).toBe('');
  expect(withField(f.array(f.string().required()).min(1).max(20_000))).toBe('');
  expect(withField(f.ref('user').owner().required().hidden())).toBe('');
  expect(
    withField(
      f
        .integer()
        .check((n) => n > 1)
        .default(2),
    ),
  ).toBe('');
  const needsRecord = (n: number, record: Record<string, unknown>) => n > (record.least as number);
  expect(withField(f.integer().check(needsRecord).default(2))).toBe('');
  expect(
    withField(
      f
        .string()
        .schema(z.string().refine(async () => false))
        .default('x'),
    ),
  ).toBe('');
  expect(withField(f.date().min('2026-01-01').max(new Date('2027-01-01')))).toBe('');
  expect(withField(f.string().visibleTo('role:admin').filterable().sortable().searchable())).toBe('');
  const closed = { fields: { a: f.string().required().readOnly() } };
  for (const how of [{ crud: ['list'] }, { policies: { create: 'none' } }, { hooks: { beforeCreate() {} } }]) {
    expect(withOptions({ ...closed, ...how })).toBe('');
  }
  expect(withField(f.array(f.ref('Thing')).populate())).toBe('');
  expect(withOptions({ policies: { list: ['owner', () => true] }, crud: ['list'], timestamps: false })).toBe('');
  expect(withRoute((route) => route.get('/', { policy: 'public' }, () => 1))).toBe('');
});

test.each<[string, object]>([
  ['auth.resetUrl', { auth: { resetUrl: 'javascript:alert(1)' } }],
  ['auth.resetTokenTtlMinutes', { auth: { resetTokenTtlMinutes: 0 } }],
  ['auth.sessionTtlDays', { auth: { sessionTtlDays: 1e9 } }],
  ['auth.legacyPassword', { auth: { legacyPassword: 'bcrypt' } }],
  ['mail.templates.passwordReset', { mail: { templates: { passwordReset: 'Hello' } } }],
  ['mail.templates.welcome', { mail: { templates: { welcome: () => 1 } } }],
])('an invalid setting %s is refused by its name', (name, settings) => {
  expect(getStartupError({ resources: [], settings: settings as never })).toContain(`settings.${name}`);
});

test('an unknown setting is refused by its name', () => {
  expect(getStartupError({ resources: [], settings: { auth: { regsiter: true } } as never })).toContain(
    'settings.auth.regsiter',
  );
});

test('a password cost beyond what a server can afford is a configuration error', () => {
  const settings = { auth: { password: { logN: 20, r: 32, p: 1 } } };
  expect(getStartupError({ resources: [], settings })).toContain('settings.auth.password');
});
