import { Client as PostgresClient } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineResource, defineUser, emailVerification, f } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { openMailbox } from '../../support/mailbox.ts';
import { getStartupError } from '../../support/startup-error.ts';

const password = 'correct horse battery';
const INVALID = { code: 'INVALID_TOKEN', message: 'This link or code is invalid or has expired' };
const note = defineResource('note', {
  fields: { text: f.string().required(), owner: f.ref('user').owner() },
  policies: { create: 'verified', list: 'verified', read: 'verified' },
});
const events: { name: string; claimed: boolean }[] = [];
const { app, call, url, env } = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [emailVerification()],
    settings: { relay: { sweepMs: 50, pollMs: 50 }, auth: { lockout: { maxAttempts: 5 } } },
    listeners: (app) =>
      app.on(
        'auth.email_verified',
        ({ claimed }: { claimed: boolean }) => void events.push({ name: 'verified', claimed }),
      ),
  },
  { roles: 'all' },
);
const sql = new PostgresClient({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

let people = 0;
async function register() {
  people += 1;
  const email = `verify${people}@example.com`;
  const { body } = await call('POST', '/api/auth/register', { name: 'Ada', email, password });
  const { user, token } = body.data;
  return { email, user, token, call: createClient(url, token), mailbox: openMailbox(app, email) };
}
const verify = (client: typeof call, body: object) => client('POST', '/api/auth/email/verify', body);

test('a registration sends an e-mail whose link and code confirm the address within the session, once', async () => {
  for (const kind of ['token', 'code'] as const) {
    const ada = await register();
    expect(ada.user).not.toHaveProperty('emailVerifiedAt');
    const mail = await ada.mailbox.next();
    expect(mail).toMatchObject({ subject: 'Verify your e-mail address', token: /^[\w-]{43}$/, code: /^\d{6}$/ });
    events.length = 0;
    const verified = await verify(ada.call, { [kind]: mail[kind] });
    expect(verified).toMatchObject({ status: 200, body: { data: { email: ada.email } } });
    expect(verified.headers.get('cache-control')).toBe('no-store');
    const me = (await ada.call('GET', '/api/auth/me')).body.data;
    expect(me.emailVerifiedAt).toBe(verified.body.data.emailVerifiedAt);
    expect(events).toEqual([{ name: 'verified', claimed: false }]);
    const other = await register();
    expect((await verify(other.call, { [kind]: mail[kind] })).body.error).toMatchObject(INVALID);
  }
});

test('a link or code of a confirmed address that is used, wrong or of another user is refused, and a further e-mail, too', async () => {
  const [ada, eve] = [await register(), await register()];
  const [{ token, code }, others] = [await ada.mailbox.next(), await eve.mailbox.next()];
  expect((await verify(ada.call, { token })).status).toBe(200);
  for (const proof of [{ token }, { code }, { token: 'x'.repeat(43) }, { code: 'abc' }, { token: others.token }]) {
    const { status, body } = await verify(ada.call, proof);
    expect([proof, status, body.error]).toMatchObject([proof, 400, INVALID]);
  }
  // None of these is a guess: no link or code waits.
  expect((await ada.call('POST', '/api/auth/email/verification')).body.error.code).toBe('CONFLICT');
  expect((await verify(eve.call, { token: others.token })).status).toBe(200);
});

test('many concurrent uses of one link confirm the address once', async () => {
  const ada = await register();
  const { token } = await ada.mailbox.next();
  events.length = 0;
  const answers = await Promise.all(Array.from({ length: 10 }, () => verify(ada.call, { token })));
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
  expect(answers.every(({ status }) => status === 200 || status === 400)).toBe(true);
  expect(events).toHaveLength(1);
});

test('neither the link nor the code works without a session of the account: a stranger who opens the link confirms nothing', async () => {
  const [ada, eve] = [await register(), await register()];
  const { token, code } = await ada.mailbox.next();
  expect((await verify(call, { token })).status).toBe(401);
  for (const proof of [{ token }, { code }]) expect((await verify(eve.call, proof)).body.error).toMatchObject(INVALID);
  expect((await ada.call('GET', '/api/auth/me')).body.data).not.toHaveProperty('emailVerifiedAt');
  expect((await verify(ada.call, { token })).status).toBe(200);
});

test('a new e-mail invalidates the former link and code', async () => {
  const ada = await register();
  const first = await ada.mailbox.next();
  expect((await ada.call('POST', '/api/auth/email/verification')).status).toBe(202);
  const second = await ada.mailbox.next();
  expect((await verify(ada.call, { token: first.token })).body.error).toMatchObject(INVALID);
  expect((await verify(ada.call, { code: second.code })).status).toBe(200);
});

test('an expired link and code are refused', async () => {
  const ada = await register();
  const { token, code } = await ada.mailbox.next();
  await sql.query(`update email_proofs set expires_at = now() where email = $1`, [ada.email]);
  for (const proof of [{ token }, { code }]) expect((await verify(ada.call, proof)).body.error).toMatchObject(INVALID);
});

test('wrong codes are limited, however many are sent at once, and do not keep the user from signing in', async () => {
  const ada = await register();
  const { code } = await ada.mailbox.next();
  const wrong = code === '000000' ? '000001' : '000000';
  const answers = await Promise.all(Array.from({ length: 30 }, () => verify(ada.call, { code: wrong })));
  const count = (status: number) => answers.filter((one) => one.status === status).length;
  expect([count(400), count(429)]).toEqual([5, 25]);
  expect((await verify(ada.call, { code })).status).toBe(429);
  // The thief of a session must not be able to lock the user out.
  expect((await call('POST', '/api/auth/login', { email: ada.email, password })).status).toBe(200);
});

test('a code that is submitted many times at once confirms the address, and locks nothing', async () => {
  const ada = await register();
  const { code } = await ada.mailbox.next();
  const answers = await Promise.all(Array.from({ length: 10 }, () => verify(ada.call, { code })));
  expect(answers.some(({ status }) => status === 200)).toBe(true);
  expect((await call('POST', '/api/auth/login', { email: ada.email, password })).status).toBe(200);
});

test('a code can be typed with the spaces and dashes that people add', async () => {
  const ada = await register();
  const { code } = await ada.mailbox.next();
  expect((await verify(ada.call, { code: ` ${code.slice(0, 3)}-${code.slice(3)} ` })).status).toBe(200);
});

test.each([
  ['nothing', {}, { token: 'Send either token or code' }],
  ['both', { token: 'a', code: '123456' }, { token: 'Send either token or code' }],
  ['a number', { code: 123456 }, { code: 'Must be a string' }],
  ['too long a token', { token: 'x'.repeat(129) }, { token: 'Must be at most 128 characters' }],
  ['a NUL', { token: 'a\0' }, { token: expect.any(String) }],
  ['an unknown field', { token: 'a', email: 'a@b.co' }, { email: 'Unknown field' }],
])('a body with %s is refused and names the field', async (_what, body, details) => {
  const ada = await register();
  const { status, body: answer } = await verify(ada.call, body);
  expect([status, answer.error.details]).toEqual([422, details]);
});

test('clients cannot set emailVerifiedAt themselves', async () => {
  const values = { name: 'Eve', email: 'eve-sets@example.com', password, emailVerifiedAt: new Date().toISOString() };
  expect((await call('POST', '/api/auth/register', values)).body.error.details).toEqual({
    emailVerifiedAt: 'Is read-only',
  });
  const ada = await register();
  const { status } = await ada.call('PATCH', '/api/auth/me', { emailVerifiedAt: values.emailVerifiedAt });
  expect(status).toBe(422);
});

test('the policy word "verified" allows users with a confirmed address only', async () => {
  const ada = await register();
  const create = () => ada.call('POST', '/api/notes', { text: 'Hello' });
  expect((await call('POST', '/api/notes', { text: 'Hello' })).status).toBe(401);
  expect((await create()).status).toBe(403);
  expect((await ada.call('GET', '/api/notes')).status).toBe(403);
  await verify(ada.call, await ada.mailbox.next().then(({ token }) => ({ token })));
  const { body } = await create();
  expect((await ada.call('GET', `/api/notes/${body.data.id}`)).status).toBe(200);
  expect((await ada.call('GET', '/api/notes')).status).toBe(200);
  // The address is changed by code: nobody has proved to own the new one.
  await app.service('user').update(ada.user.id, { email: `new-${ada.email}` });
  expect((await ada.call('GET', `/api/notes/${body.data.id}`)).status).toBe(404);
  expect((await create()).status).toBe(403);
});

test('an update of a user by code that does not change the address keeps it verified', async () => {
  const ada = await register();
  await verify(ada.call, { token: (await ada.mailbox.next()).token });
  await app.service('user').update(ada.user.id, { email: ada.email, name: 'Ada L' });
  expect((await ada.call('GET', '/api/auth/me')).body.data.emailVerifiedAt).toMatch(/Z$/);
});

test('only the user and admins see when an address was confirmed', async () => {
  const ada = await register();
  await verify(ada.call, { token: (await ada.mailbox.next()).token });
  const eve = await register();
  expect((await eve.call('GET', `/api/users/${ada.user.id}`)).status).toBe(404);
  await app.service('user').update(eve.user.id, { roles: ['user', 'admin'] });
  const filtered = await eve.call('GET', `/api/users?email=${ada.email}&emailVerifiedAt[exists]=true`);
  expect(filtered.body.data[0].emailVerifiedAt).toMatch(/Z$/);
});

test('"verified" without an extension that verifies addresses, and a field of the same name, are configuration errors', () => {
  expect(getStartupError({ resources: [defineUser(), note] })).toContain(
    'the word "verified" requires an extension that verifies e-mail addresses; add emailVerification() to extensions',
  );
  const escalating = f
    .array(f.enum(['user', 'admin']))
    .default(['user'])
    .writableBy('verified');
  const roles = defineUser({ fields: { roles: escalating } });
  expect(getStartupError({ resources: [roles], extensions: [emailVerification()] })).toContain(
    'users could give themselves any role',
  );
  const role = defineUser({ roles: ['verified'] });
  expect(getStartupError({ resources: [role], extensions: [emailVerification()] })).toContain(
    '"verified" cannot be a role: policies allow users with a verified e-mail address with it; choose another',
  );
  // Without such an extension, the word is the name of a role, as any other.
  expect(getStartupError({ resources: [role, note] })).toBe('');
  expect(
    getStartupError({
      resources: [defineUser()],
      extensions: [emailVerification({ verifyUrl: 'https://a.example/#/v' })],
    }),
  ).toContain('verifyUrl: must look like https://app.example.com/verify-email, without a fragment');
  const own = defineUser({ fields: { emailVerifiedAt: f.date() } });
  expect(getStartupError({ resources: [own], extensions: [emailVerification()] })).toContain(
    'the extension "emailVerification" adds a field of this name; rename yours',
  );
});
