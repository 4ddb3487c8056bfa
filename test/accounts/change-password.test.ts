import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineUser, f } from '../../src/index.ts';
import { createClient, type Person, startTestApp } from '../support/app.ts';

const secret = 'correct horse battery';
const fresh = 'a staple that is new';
const eventPayloads: Record<string, unknown>[] = [];
const { call, url, env, person } = await startTestApp({
  resources: [defineUser()],
  listeners: (app) =>
    app.on('auth.password_changed', (payload: Record<string, unknown>) => void eventPayloads.push(payload)),
});
const strict = await startTestApp({
  resources: [
    defineUser({
      fields: {
        password: f
          .password()
          .required()
          .check((value) => /\d/.test(value) || 'Needs a digit'),
      },
    }),
  ],
});
const limited = await startTestApp({ resources: [defineUser()], settings: { rateLimit: { enabled: true } } });
const sql = new Client({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

const login = (email: string, password: string) => call('POST', '/api/auth/login', { email, password });
const change = (who: Person, currentPassword: unknown, newPassword: unknown) =>
  who.call('POST', '/api/auth/password', { currentPassword, newPassword });
const isIn = async (one: Person['call']) => (await one('GET', '/api/auth/me')).status === 200;
const times = <T>(n: number, make: (i: number) => T) => Promise.all(Array.from({ length: n }, (_, i) => make(i)));

test('a password change responds 204: only the new password signs in, this session stays, and all other sessions end with their devices', async () => {
  const ann = await person('Ann');
  const other = createClient(url, (await login(ann.email, secret)).body.data.token);
  for (const [i, as] of [ann.call, other].entries())
    await as('POST', '/api/auth/devices', { token: `token-of-${i}-0123456789abcdefghij`, platform: 'ios' });
  expect((await change(ann, secret, fresh)).status).toBe(204);
  expect([await isIn(ann.call), await isIn(other)]).toEqual([true, false]);
  expect((await ann.call('GET', '/api/auth/devices')).body.data).toHaveLength(1);
  expect((await sql.query('select 1 from devices where user_id = $1', [ann.id])).rowCount).toBe(1);
  expect([(await login(ann.email, secret)).status, (await login(ann.email, fresh)).status]).toEqual([401, 200]);
});

test('a wrong current password responds 422 and changes nothing', async () => {
  const ann = await person('Ann');
  const { status, body } = await change(ann, 'wrong horse battery', fresh);
  expect([status, body.error.code, body.error.details]).toEqual([
    422,
    'VALIDATION_ERROR',
    { currentPassword: 'Must be your current password' },
  ]);
  expect((await login(ann.email, secret)).status).toBe(200);
});

test.each<[string, unknown, unknown, Record<string, string>]>([
  ['nothing', undefined, undefined, { currentPassword: 'Is required', newPassword: 'Is required' }],
  ['an object', secret, { length: 20 }, { newPassword: 'Must be a string' }],
  ['an empty password', secret, '', { newPassword: 'Is required' }],
  ['a short password', secret, 'short', { newPassword: 'Must be 8 to 128 characters' }],
  ['129 characters', secret, `${'ab'.repeat(64)}c`, { newPassword: 'Must be 8 to 128 characters' }],
  ['NUL', secret, 'a staple\0that is new', { newPassword: 'Must not contain NUL or broken characters' }],
  ['a leaked password', secret, 'Password123', { newPassword: 'This password is too common, choose another one' }],
  ['a run', secret, 'abcdefghijkl', { newPassword: 'This password is too easy to guess' }],
  [
    'a current password of 129 characters',
    'x'.repeat(129),
    fresh,
    { currentPassword: 'Must be at most 128 characters' },
  ],
])('%s responds 422', async (_what, current, wanted, details) => {
  const ann = await person('Annabel');
  const { status, body } = await change(ann, current, wanted);
  expect([status, body.error.details]).toEqual([422, details]);
});

test('the new password must not contain the user’s e-mail or name', async () => {
  const ann = await person('Annabel');
  const faults = [];
  for (const wanted of [`my ${ann.email.split('@')[0]!.toUpperCase()} pass`, 'hello ANNABEL hello'])
    faults.push((await change(ann, secret, wanted)).body.error.details);
  expect(faults).toEqual([
    { newPassword: 'Your password must not contain your email address' },
    { newPassword: 'Your password must not contain your name' },
  ]);
});

test('the project’s rules for its password field apply to a new password too', async () => {
  const account = { name: 'Ann', email: 'ann@example.com', password: 'correct horse 7' };
  const { token } = (await strict.call('POST', '/api/auth/register', account)).body.data;
  const as = createClient(strict.url, token);
  const wanted = { currentPassword: account.password, newPassword: fresh };
  const { body } = await as('POST', '/api/auth/password', wanted);
  expect(body.error.details).toEqual({ newPassword: 'Needs a digit' });
  expect((await as('POST', '/api/auth/password', { ...wanted, newPassword: `${fresh} 8` })).status).toBe(204);
});

test('an unknown field responds 422', async () => {
  const ann = await person('Ann');
  const body = { currentPassword: secret, newPassword: fresh, userId: '0'.repeat(24) };
  expect((await ann.call('POST', '/api/auth/password', body)).status).toBe(422);
});

test('five wrong current passwords lock password changes of that user only; sign-ins and live sessions are not affected', async () => {
  const [ann, ben] = [await person('Ann'), await person('Ben')];
  const responses = await times(20, () => change(ann, 'wrong horse battery', fresh));
  expect(responses.map(({ status }) => status).sort()).toEqual([...Array(5).fill(422), ...Array(15).fill(429)]);
  const { status, body, headers } = await change(ann, secret, fresh);
  expect([status, body.error.code, body.error.message]).toEqual([
    429,
    'RATE_LIMITED',
    'Too many wrong passwords, try again in 15 minutes',
  ]);
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(890);
  expect((await login(ann.email, secret)).status).toBe(200);
  expect(await isIn(ann.call)).toBe(true);
  expect((await change(ben, secret, fresh)).status).toBe(204);
});

test('password changes count towards the rate limit of auth routes', async () => {
  const ann = await limited.person('Ann');
  const { status, headers } = await change(ann, secret, fresh);
  expect([status, headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')]).toEqual([204, '10', '9']);
});

test('when several requests change the same password at once, one succeeds', async () => {
  const ann = await person('Ann');
  const responses = await times(5, (i) => change(ann, secret, `${fresh} ${i}`));
  expect(responses.map(({ status }) => status).sort()).toEqual([204, 422, 422, 422, 422]);
  const winner = responses.findIndex(({ status }) => status === 204);
  expect((await login(ann.email, `${fresh} ${winner}`)).status).toBe(200);
});

test('no session started with the old password survives a concurrent password change', async () => {
  for (let round = 0; round < 15; round++) {
    const ann = await person('Ann');
    const [changed, ...logins] = await Promise.all([
      change(ann, secret, fresh),
      ...Array.from({ length: 4 }, () => login(ann.email, secret)),
    ]);
    expect(changed.status).toBe(204);
    for (const { body } of logins)
      if (body.data !== undefined) expect(await isIn(createClient(url, body.data.token))).toBe(false);
  }
});

test('a password change emits an event with the user and without any password', async () => {
  eventPayloads.length = 0;
  const ann = await person('Ann');
  await change(ann, 'wrong horse battery', fresh);
  await change(ann, secret, fresh);
  expect(eventPayloads).toEqual([{ user: expect.objectContaining({ id: ann.id }), ip: expect.any(String) }]);
  expect(JSON.stringify({ ...(eventPayloads[0]!.user as object) })).not.toMatch(/staple|horse|scrypt/);
});
