import { expect, test } from 'vitest';
import type { AnyField } from '../../src/declare/field.ts';
import type { RouteBuilder } from '../../src/declare/route.ts';
import { createApp, defineResource, defineUser, f } from '../../src/index.ts';

const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://localhost/none', REDIS_URL: 'redis://localhost' };

/** The text of what `createApp` says of declarations; empty when it makes the app. */
function complaint(options: Parameters<typeof createApp>[0]): string {
  try {
    createApp(options, env).close();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

const withField = (field: AnyField, name = 'a') =>
  complaint({ resources: [defineUser(), defineResource('thing', { fields: { [name]: field } })] });
const withOptions = (options: object) =>
  complaint({
    resources: [
      defineUser(),
      defineResource('thing', { fields: { a: f.string(), who: f.ref('user').owner() }, ...options }),
    ],
  });

test('all mistakes of all declarations are told at once, each with its resource and field', () => {
  const message = complaint({
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
    expect.stringMatching(/resource "post": field "pin": encrypted\(\) and filterable exclude each other/),
    expect.stringMatching(/resource "post": field "link": ref\("nothing"\) names an unknown resource/),
    expect.stringMatching(/resource "post": policies.read: "owner" needs an owner field/),
    expect.stringMatching(/resource "note": two fields are marked owner\(\): "one" and "two"/),
  ]);
});

test.each(['id', '_id', 'createdAt', 'updatedAt', '__v'])('the field name %s is reserved', (name) => {
  expect(withField(f.string(), name)).toContain(`field "${name}"`);
});

test.each(['created_at', 'updated_at', 'ID', 'xmin', 'ctid', 'a b', '1st', 'a'.repeat(64)])(
  'the field name %s is refused: it has no column of its own',
  (name) => {
    expect(withField(f.string(), name)).toContain(`field "${name}"`);
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
  ['a policy that is none', f.string().visibleTo('admin & editor')],
  ['owner in visibleTo without an owner', f.string().visibleTo('owner')],
  ['owner in writableBy without an owner', f.string().writableBy('owner')],
  ['an owner that is no user', f.ref('thing').owner()],
  ['an owner that is no reference', f.string().owner()],
  ['populate on a string', f.string().populate()],
  ['populate on a list of strings', f.array(f.string()).populate()],
  ['searchable on a number', f.number().searchable()],
  ['pattern on a number', f.number().pattern(/1/)],
  ['min above max', f.string().min(3).max(2)],
  ['a bound that is no number', f.number().min('x')],
  ['a date bound that is no date', f.date().min('yesterday')],
  ['an unknown operator', f.string().filterable(['like' as never])],
  ['an operator that the type has not', f.string().filterable(['all'])],
  ['greater-than on an array', f.array(f.string()).filterable(['gt'])],
  ['json filtered by more than exists', f.json().filterable(['eq'])],
  ['an object filtered by more than exists', f.object({ a: f.string() }).filterable(['eq'])],
  ['a list of objects filtered by value', f.array(f.object({ a: f.string() })).filterable()],
  ['a text filterable without operators', f.text().filterable()],
  ['an enum without values', f.enum([] as never)],
  ['an enum with a value twice', f.enum(['a', 'a'])],
  ['a default that breaks the rules', f.string().max(3).default('toolong')],
  ['a default of the wrong type', f.integer().default(1.5)],
  ['lower and upper case at once', f.string().lowercase().uppercase()],
  ['a password in an object', f.object({ p: f.password() })],
  ['hidden inside an object', f.object({ p: f.string().hidden() })],
  ['visibleTo inside an array', f.array(f.string().visibleTo('admin'))],
  ['filterable inside an object', f.object({ p: f.string().filterable() })],
  ['a default inside an array', f.array(f.string().default('x'))],
  ['an unknown reference inside an array', f.array(f.ref('nothing'))],
  ['an unknown reference inside an object', f.object({ p: f.ref('nothing') })],
])('%s is refused, naming the field', (_what, field) => {
  expect(withField(field)).toContain('resource "thing": field "a');
});

test.each<[string, object, string]>([
  ['an unknown action in policies', { policies: { lsit: 'public' } }, 'policies.lsit'],
  ['an unknown crud action', { crud: ['list', 'raed'] }, 'crud'],
  ['a path without slash', { path: 'things' }, 'path'],
  ['a path with an upper-case letter', { path: '/Things' }, 'path'],
  ['a built-in path', { path: '/auth' }, 'path'],
  ['a table of our own', { collection: 'outbox' }, 'collection'],
  ['a default sort by an unknown field', { defaultSort: '-nope' }, 'defaultSort'],
  ['a default sort by a password', { fields: { secret: f.password() }, defaultSort: 'secret' }, 'defaultSort'],
  ['a filterable field called like a parameter', { fields: { after: f.date().filterable() } }, 'query parameter'],
  ['a default sort by a time that is not kept', { timestamps: false, defaultSort: '-createdAt' }, 'defaultSort'],
  ['an index of an unknown field', { indexes: [{ fields: ['nope'] }] }, 'indexes'],
  ['an index of nothing', { indexes: [{ fields: [] }] }, 'indexes'],
  ['an owner option beside an owner field', { owner: 'a' }, 'owner'],
  ['an unknown hook', { hooks: { beforeSave() {} } }, 'beforeSave'],
  ['softDelete', { softDelete: true }, 'softDelete: not available yet'],
  ['audit', { audit: true }, 'audit: not available yet'],
  ['onOwnerDelete', { onOwnerDelete: 'delete' }, 'onOwnerDelete: not available yet'],
  ['personalFields', { personalFields: ['a'] }, 'personalFields: not available yet'],
])('%s is refused', (_what, options, named) => {
  expect(withOptions(options)).toContain('resource "thing": ');
  expect(withOptions(options)).toContain(named);
});

// biome-ignore lint/suspicious/noExplicitAny: wrong routes are made on purpose
const withRoute = (add: (route: any) => unknown) => withOptions({ routes: (route: unknown) => [add(route)] });

test.each<[string, Parameters<typeof withRoute>[0], string]>([
  ['a policy that is none', (route) => route.get('/a', { policy: 'admin & editor' }, () => 1), 'GET /things/a'],
  ['a path without slash', (route) => route.get('a', () => 1), '"a"'],
  ['a malformed path', (route) => route.get('/a(', () => 1), '/things/a('],
  ['owner on a route without a record', (route) => route.get('/a', { policy: 'owner' }, () => 1), '"owner" needs'],
  ['an unknown option', (route) => route.get('/a', { polizy: 'public' }, () => 1), 'polizy'],
  ['no handler', (route) => route.get('/a', { policy: 'public' }), 'handler'],
  ['a status that is none', (route) => route.get('/a', { status: 99 }, () => 1), 'status'],
])('a custom route with %s is refused', (_what, add, named) => {
  expect(withRoute(add)).toContain(named);
});

test('the same route twice is refused', () => {
  const routes = (route: RouteBuilder) => [route.get('/:id/a', () => 1), route.get('/:key/a', () => 2)];
  const message = withOptions({ routes });
  expect(message).toContain('is declared twice');
});

test('names, paths and tables are each taken once', () => {
  const twice = [defineResource('ProductCategory', { fields: {} }), defineResource('product-category', { fields: {} })];
  expect(complaint({ resources: twice })).toMatch(/name "product-category" is declared twice/);
  const paths = [defineResource('a', { fields: {}, path: '/x' }), defineResource('b', { fields: {}, path: '/x' })];
  expect(complaint({ resources: paths })).toMatch(/path "\/x" is declared twice/);
  const tables = [
    defineResource('a', { fields: {}, collection: 'x' }),
    defineResource('b', { fields: {}, collection: 'x' }),
  ];
  expect(complaint({ resources: tables })).toMatch(/table "x" is declared twice/);
});

test('accounts need an e-mail that is unique', () => {
  const user = defineResource('user', { fields: { email: f.email().required(), password: f.password() } });
  expect(complaint({ resources: [user] })).toMatch(/resource "user": field "email": .*unique/);
});

test.each([
  ['nested repetition', /(a+)+b/],
  ['nested repetition in two groups', /^((a+))+$/],
  ['nested repetition after a prefix', /^id:(\w+\s?)*$/],
  ['alternatives that overlap', /^(a|aa)+$/],
  ['many repetitions of one thing', /^\w*\w*\w*\w*\w*1$/],
  ['a counted repetition', /^(.*a){12}$/],
])('a pattern that takes for ever on a hostile text is refused: %s', (_what, regex) => {
  expect(withField(f.text().pattern(regex))).toContain('pattern');
});

test.each([
  ['a slug', /^[a-z0-9]+(?:-[a-z0-9]+)*$/],
  ['a host name', /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/],
  ['a phone number', /^\+?[0-9 ()-]{6,20}$/],
  ['a version', /^\d+(\.\d+){0,2}$/],
  ['a colour', /^#([0-9a-f]{3}){1,2}$/i],
])('a pattern that is quick is accepted: %s', (_what, regex) => {
  expect(withField(f.string().max(200).pattern(regex))).toBe('');
});

const wrongRules = [
  ...[0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 1e10, '10', null].map((limit) => ({ limit, windowMs: 1000 })),
  ...[0, -1, 0.5, Number.NaN, 1e12, '1m'].map((windowMs) => ({ limit: 10, windowMs })),
  ...[{}, { limit: 10 }, { windowMs: 1000 }, { limit: 10, windowMs: 1000, max: 5 }, 10, 'global', true, null, []],
];

test.each(wrongRules)('%j is no rate limit: neither of a route nor in the settings', (rateLimit) => {
  const message = withRoute((route) => route.get('/a', { rateLimit }, () => 1));
  expect(message).toContain("rateLimit: must be 'auth' or { limit, windowMs }: a limit from 1 to a billion");
  for (const name of ['global', 'auth']) {
    const settings = { rateLimit: { [name]: rateLimit } };
    expect(complaint({ resources: [], settings: settings as never })).toContain(`settings.rateLimit.${name}`);
  }
});

test('what is right is accepted', () => {
  for (const rateLimit of ['auth', { limit: 1, windowMs: 1 }, { limit: 1e9, windowMs: 604_800_000 }]) {
    expect(withRoute((route) => route.get('/a', { rateLimit }, () => 1))).toBe('');
  }
  expect(withField(f.array(f.object({ a: f.string() })).filterable(['exists']))).toBe('');
  expect(withField(f.object({ a: f.string().required().max(3) }).filterable(['exists']))).toBe('');
  expect(withField(f.text().filterable(['eq', 'gt']))).toBe('');
  expect(withField(f.ref('Thing').populate())).toBe('');
  expect(withField(f.array(f.ref('Thing')).populate())).toBe('');
  expect(withOptions({ policies: { list: ['owner', () => true] }, crud: ['list'], timestamps: false })).toBe('');
  expect(withRoute((route) => route.get('/', { policy: 'public' }, () => 1))).toBe('');
});

test.each([
  ['lockout', { auth: { lockout: { maxAttempts: 3 } } }],
  ['resetUrl', { auth: { resetUrl: 'https://x.example' } }],
])('the setting %s has no effect yet and is refused', (name, settings) => {
  const message = complaint({ resources: [], settings: settings as never });
  expect(message).toContain(name);
  expect(message).toContain('not available yet');
});

test('an unknown setting is refused by its name', () => {
  expect(complaint({ resources: [], settings: { auth: { regsiter: true } } as never })).toContain(
    'settings.auth.regsiter',
  );
});

test('a password cost that no server can bear is a mistake of the settings', () => {
  const settings = { auth: { password: { logN: 20, r: 32, p: 1 } } };
  expect(complaint({ resources: [], settings })).toContain('settings.auth.password');
});
