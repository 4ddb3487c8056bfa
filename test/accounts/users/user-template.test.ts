import { describe, expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { getStartupError } from '../../support/startup-error.ts';

const user = defineUser({ fields: { phone: f.string(), avatarUrl: f.url().max(50) }, roles: ['user', 'editor'] });
const { app, call, person } = await startTestApp({ resources: [user] });
const [ann, bob, root] = [await person('Ann'), await person('Bob'), await person('Root', ['admin'])];

const password = 'correct horse battery';
const register = (body: object) =>
  call('POST', '/api/auth/register', { name: 'Eve', email: 'eve@example.com', password, ...body });

test.each<[string, object, Record<string, string>]>([
  ['no name', { name: undefined }, { name: 'Is required' }],
  ['a name of spaces', { name: '  ' }, { name: 'Is required' }],
  ['a name of 101 characters', { name: 'x'.repeat(101) }, { name: 'Must be at most 100 characters' }],
  ['no e-mail', { email: undefined }, { email: 'Is required' }],
  ['a malformed e-mail', { email: 'eve' }, { email: 'Must be a valid e-mail address' }],
  ['no password', { password: undefined }, { password: 'Is required' }],
  ['a short password', { password: 'short' }, { password: 'Must be 8 to 128 characters' }],
  ['roles', { roles: ['admin'] }, { roles: 'You are not allowed to set this field' }],
  ['a status', { status: 'active' }, { status: 'You are not allowed to set this field' }],
  [
    'an avatar that is not a web address',
    { avatarUrl: 'javascript:1' },
    { avatarUrl: 'Must be an http:// or https:// URL' },
  ],
  ['an undeclared field', { nope: 1 }, { nope: 'Unknown field' }],
])('%s is refused', async (_what, body, details) => {
  const response = await register(body);
  expect([response.status, response.body.error.details]).toEqual([422, details]);
});

test('a registered user is active and has the role user; an admin creates users with any role', async () => {
  const { body } = await register({ name: ' Eve ', email: ' EVE@example.com ', phone: '1' });
  expect(body.data.user).toMatchObject({ name: 'Eve', email: 'eve@example.com', roles: ['user'], status: 'active' });
  const made = { name: 'Max', email: 'max@example.com', password, roles: ['editor'], status: 'disabled' };
  expect((await root.call('POST', '/api/users', made)).body.data).toMatchObject({
    roles: ['editor'],
    status: 'disabled',
  });
  const wrong = await root.call('POST', '/api/users', { ...made, email: 'm@x.co', roles: ['boss'], status: 'gone' });
  expect(wrong.body.error.details).toEqual({
    'roles.0': 'Must be one of: user, admin, editor',
    status: 'Must be one of: active, disabled',
  });
});

test('only the owner and admins read e-mail and roles, and no user reads the password', async () => {
  const get = async (as: typeof ann) => Object.keys((await as.call('GET', `/api/users/${ann.id}`)).body.data ?? {});
  expect(await get(ann)).toEqual(expect.arrayContaining(['name', 'email', 'roles', 'status']));
  expect(await get(root)).toEqual(expect.arrayContaining(['name', 'email', 'roles', 'status']));
  for (const as of [ann, root]) expect(await get(as)).not.toContain('password');
  expect((await bob.call('GET', `/api/users/${ann.id}`)).status).toBe(404);
});

test('a user may change their name and avatar but not their e-mail, password, roles or status', async () => {
  const patch = (as: typeof ann, body: object) => as.call('PATCH', `/api/users/${ann.id}`, body);
  expect((await patch(ann, { name: 'Anne', avatarUrl: 'https://a.co/x.png' })).status).toBe(200);
  expect((await patch(ann, { avatarUrl: null })).body.data).not.toHaveProperty('avatarUrl');
  const { body } = await patch(ann, { email: 'n@x.co', password, roles: ['admin'], status: 'active' });
  expect(body.error.details).toEqual({
    email: 'Cannot be changed after creation',
    password: 'Use POST /api/auth/password (or the reset flow) to change passwords',
    roles: 'You are not allowed to set this field',
    status: 'You are not allowed to set this field',
  });
  expect((await patch(bob, { name: 'x' })).status).toBe(404);
  expect((await patch(root, { roles: ['user', 'editor'] })).body.data.roles).toEqual(['user', 'editor']);
});

test('only admins may list, search, sort and filter users', async () => {
  expect((await ann.call('GET', '/api/users')).status).toBe(403);
  expect((await call('GET', '/api/users')).status).toBe(401);
  const names = async (query: string) =>
    (await root.call('GET', `/api/users?${query}`)).body.data.map((one: { name: string }) => one.name);
  expect(await names('q=ann')).toEqual(['Anne']);
  expect(await names(`email=${encodeURIComponent(bob.email)}`)).toEqual(['Bob']);
  expect(await names('roles=admin')).toEqual(['Root']);
  expect(await names('status=active&sort=name&limit=2')).toEqual(['Anne', 'Bob']);
});

test('a declared field replaces the template’s field of the same name, and declared roles add to user and admin', async () => {
  const long = await ann.call('PATCH', `/api/users/${ann.id}`, { avatarUrl: `https://a.co/${'x'.repeat(50)}` });
  expect(long.body.error.details).toEqual({ avatarUrl: 'Must be at most 50 characters' });
  await app.service('user').update(bob.id, { roles: ['editor'] });
  expect((await bob.call('GET', `/api/users/${bob.id}`)).body.data.roles).toEqual(['editor']);
});

describe('a user resource whose e-mail or password has the wrong type', () => {
  const withFields = (fields: object) => defineResource('user', { owner: '_id', fields: { ...fields } });
  const right = { email: f.email().required().unique(), password: f.password().required() };

  test.each<[string, object, RegExp]>([
    [
      'email',
      { ...right, email: f.string().unique() },
      /field "email".* its type is string\. Declare it with f\.email\(\)/,
    ],
    ['email', { ...right, email: f.array(f.email()) }, /field "email".* its type is array/],
    [
      'password',
      { ...right, password: f.string() },
      /field "password".* its type is string\. Declare it with f\.password\(\)/,
    ],
  ])('is refused at start with an error that names "%s"', (_name, fields, message) => {
    expect(getStartupError({ resources: [withFields(fields)] })).toMatch(message);
  });

  test('is reported once for each of the two fields', () => {
    const resources = [withFields({ email: f.text(), password: f.text() })];
    expect(getStartupError({ resources }).match(/accounts sign in with it/g)).toHaveLength(2);
  });

  test('is accepted when accounts are turned off or only one of the fields is declared', () => {
    const off = {
      resources: [withFields({ email: f.string(), password: f.string() })],
      settings: { auth: { enabled: false } },
    };
    expect(getStartupError(off)).toBe('');
    expect(getStartupError({ resources: [withFields({ email: f.string() })] })).toBe('');
  });
});
