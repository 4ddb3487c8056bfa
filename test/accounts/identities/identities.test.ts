import { Client as PostgresClient } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { verifiedEmailFields } from '../../../src/accounts/users/verified-email.ts';
import type { Accounts, IdentitySignIn } from '../../../src/declare/accounts.ts';
import { apiKeys, defineExtension, defineUser, twoFactor, webhooks } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';

const password = 'correct horse battery';
const events: [name: string, payload: Record<string, unknown>][] = [];

/** An identity provider that says whatever its caller wants. */
const provider = defineExtension({
  name: 'provider',
  userFields: verifiedEmailFields,
  setup({ accounts: given, transaction }) {
    const accounts = given as Accounts;
    return {
      routes: [
        {
          method: 'POST',
          path: '/auth/provider',
          policy: 'public',
          body: 'json',
          async handler({ body, req }) {
            const { userId } = await accounts.findOrCreateByIdentity(body as IdentitySignIn, req);
            return accounts.startSession(userId, { method: 'oidc:acme', request: req });
          },
        },
        {
          method: 'POST',
          path: '/auth/provider/link',
          status: 204,
          body: 'json',
          async handler({ body, user, req }) {
            await transaction((tx) => accounts.linkIdentity(user!.id, body as IdentitySignIn, tx, req));
          },
        },
      ],
    };
  },
});
const { app, call, url, person, env } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [provider, apiKeys(), webhooks(), twoFactor()],
    listeners(app) {
      for (const name of [
        'auth.registered',
        'auth.login',
        'auth.email_verified',
        'security.identity_linked',
        'security.identity_removed',
        'security.login_failed',
      ])
        app.on(name, (payload: Record<string, unknown>) => void events.push([name, payload]));
    },
  },
  { roles: 'all' },
);
const sql = new PostgresClient({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());

let subjects = 0;
const newIdentity = (fields: Partial<IdentitySignIn> = {}): IdentitySignIn => {
  subjects += 1;
  const email = `identity${subjects}@example.com`;
  return { provider: 'acme', subject: `s${subjects}`, email, emailVerified: true, profile: { name: 'Ada' }, ...fields };
};
const signIn = (identity: object) => call('POST', '/api/auth/provider', identity);
const login = (email: string) => call('POST', '/api/auth/login', { email, password });
const isIn = async (token: string) => (await createClient(url, token)('GET', '/api/auth/me')).status === 200;

test('the first sign-in with an identity creates a user without a password; later ones find it, whatever the address is by then', async () => {
  const identity = newIdentity();
  events.length = 0;
  const first = await signIn(identity);
  expect(first.body.data.user).toMatchObject({
    name: 'Ada',
    email: identity.email,
    emailVerifiedAt: expect.any(String),
  });
  expect(events.map(([name]) => name)).toEqual(['auth.registered', 'auth.login']);
  const second = await signIn({ ...identity, email: 'moved@example.com', emailVerified: false });
  expect(second.body.data.user.id).toBe(first.body.data.user.id);
  expect((await login(identity.email!)).status).toBe(401);
  const ada = createClient(url, second.body.data.token);
  expect((await ada('GET', '/api/auth/identities')).body.data).toEqual([
    {
      id: expect.stringMatching(/^[0-9a-f]{24}$/),
      provider: 'acme',
      email: 'moved@example.com',
      createdAt: expect.stringMatching(/Z$/),
      lastUsedAt: expect.stringMatching(/Z$/),
    },
  ]);
  expect((await ada('GET', '/api/auth/sign-in-methods')).body.data).toEqual(['oidc:acme']);
});

test('the same subject at another provider is another identity', async () => {
  const identity = newIdentity();
  const other = newIdentity({ provider: 'other', subject: identity.subject });
  const [one, two] = [await signIn(identity), await signIn(other)];
  expect(one.body.data.user.id).not.toBe(two.body.data.user.id);
});

test('many concurrent first sign-ins with one identity create one user', async () => {
  const identity = newIdentity();
  const answers = await Promise.all(Array.from({ length: 10 }, () => signIn(identity)));
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect(new Set(answers.map(({ body }) => body.data.user.id)).size).toBe(1);
});

test('an identity whose address the provider has not verified is never linked to an existing account', async () => {
  const ada = await person('Ada');
  const { status, body } = await signIn(newIdentity({ email: ada.email, emailVerified: false }));
  expect([status, body.error.code]).toEqual([409, 'CONFLICT']);
  expect((await ada.call('GET', '/api/auth/identities')).body.data).toEqual([]);
});

test('an unverified address creates an unverified user', async () => {
  const { body } = await signIn(newIdentity({ emailVerified: false }));
  expect(body.data.user).not.toHaveProperty('emailVerifiedAt');
});

test('an account that its address owner claims loses everything that the person who registered it has', async () => {
  const mallory = await person('Mallory');
  const second = (await login(mallory.email)).body.data.token;
  const key = (await mallory.call('POST', '/api/auth/api-keys', { name: 'backdoor' })).body.data.key;
  await mallory.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/hook', events: ['user.updated'] });
  await createClient(url, key)('POST', '/api/auth/devices', { token: 'a'.repeat(64), platform: 'ios' });
  await mallory.call('POST', '/api/auth/provider/link', newIdentity());
  await mallory.call('POST', '/api/auth/2fa/enrol', { password });
  await sql.query('update two_factors set confirmed_at = now() where user_id = $1', [mallory.id]);
  events.length = 0;
  const { body } = await signIn(newIdentity({ email: ` ${mallory.email.toUpperCase()} ` }));
  expect(body.data.user).toMatchObject({ id: mallory.id, emailVerifiedAt: expect.any(String) });
  expect(events).toContainEqual(['auth.email_verified', expect.objectContaining({ claimed: true })]);
  expect([await isIn(mallory.token), await isIn(second), await isIn(key)]).toEqual([false, false, false]);
  expect((await login(mallory.email)).status).toBe(401);
  const owner = createClient(url, body.data.token);
  for (const path of ['/api/webhooks', '/api/auth/api-keys', '/api/auth/devices'])
    expect((await owner('GET', path)).body.data).toEqual([]);
  expect((await owner('GET', '/api/auth/identities')).body.data).toHaveLength(1);
  expect((await owner('GET', '/api/auth/2fa')).body.data.enabled).toBe(false);
});

test('a sign-in with a new identity of a disabled account responds 403, and neither claims nor links the account', async () => {
  for (const verifiedAt of [null, new Date().toISOString()]) {
    const ada = await person('Ada');
    const change = `update users set status = 'disabled', email_verified_at = $2 where id = $1`;
    await sql.query(change, [ada.id, verifiedAt]);
    events.length = 0;
    const { status, body } = await signIn(newIdentity({ email: ada.email }));
    expect([status, body.error.message]).toEqual([403, 'This account is disabled']);
    expect(events).toEqual([['security.login_failed', expect.objectContaining({ reason: 'user_disabled' })]]);
    expect((await sql.query('select from user_identities where user_id = $1', [ada.id])).rowCount).toBe(0);
    await sql.query(`update users set status = 'active' where id = $1`, [ada.id]);
    expect([await isIn(ada.token), (await login(ada.email)).status]).toEqual([true, 200]);
    expect((await ada.call('GET', '/api/auth/me')).body.data.emailVerifiedAt ?? null).toBe(verifiedAt);
  }
});

test('an account with a confirmed address keeps its password and sessions when an identity is linked to it', async () => {
  const ada = await person('Ada');
  await sql.query('update users set email_verified_at = now() where id = $1', [ada.id]);
  events.length = 0;
  expect((await signIn(newIdentity({ email: ada.email }))).body.data.user.id).toBe(ada.id);
  expect(await isIn(ada.token)).toBe(true);
  expect((await login(ada.email)).status).toBe(200);
  expect(events).toContainEqual([
    'security.identity_linked',
    expect.objectContaining({ userId: ada.id, provider: 'acme' }),
  ]);
  expect((await ada.call('GET', '/api/auth/sign-in-methods')).body.data).toEqual(['password', 'oidc:acme']);
});

test.each([
  ['a plus tag', (email: string) => email.replace('@', '+x@')],
  ['a Cyrillic letter', (email: string) => email.replace('a', 'а')],
  ['a full-width letter', (email: string) => email.replace('a', 'ａ')],
  ['a look-alike domain', (email: string) => email.replace('example', 'exampIe')],
  ['a Kelvin sign', (email: string) => email.replace('k', '\u212a')],
  ['a dot', (email: string) => email.replace('@', '.@')],
])('an address that differs by %s never reaches the account of another address', async (_what, change) => {
  const ada = await person('Anka');
  const changed = change(ada.email);
  expect(changed).not.toBe(ada.email);
  const { body } = await signIn(newIdentity({ email: changed }));
  expect(body.data?.user.id).not.toBe(ada.id);
  expect(body.data?.user.email ?? changed).not.toBe(ada.email);
  expect((await ada.call('GET', '/api/auth/identities')).body.data).toEqual([]);
});

test('a user links an identity after signing in; an identity of another user is a conflict', async () => {
  const [ada, eve] = [await person('Ada'), await person('Eve')];
  const identity = newIdentity({ email: 'elsewhere@example.com' });
  expect((await ada.call('POST', '/api/auth/provider/link', identity)).status).toBe(204);
  expect((await ada.call('POST', '/api/auth/provider/link', identity)).status).toBe(204);
  expect((await eve.call('POST', '/api/auth/provider/link', identity)).body.error.code).toBe('CONFLICT');
  expect((await signIn(identity)).body.data.user.id).toBe(ada.id);
});

test('the last way to sign in cannot be removed, not even by concurrent requests', async () => {
  const [one, two] = [newIdentity(), newIdentity()];
  const { user, token } = (await signIn(one)).body.data;
  const ada = createClient(url, token);
  await ada('POST', '/api/auth/provider/link', two);
  const ids = (await ada('GET', '/api/auth/identities')).body.data.map(({ id }: { id: string }) => id);
  const removed = await Promise.all(ids.map((id: string) => ada('DELETE', `/api/auth/identities/${id}`)));
  expect(removed.map(({ status }) => status).sort()).toEqual([204, 409]);
  expect((await ada('GET', '/api/auth/identities')).body.data).toHaveLength(1);
  expect(user.id).toBe((await ada('GET', '/api/auth/me')).body.data.id);
});

test('only the user removes an identity, and only after a recent sign-in', async () => {
  const [ada, eve] = [await person('Ada'), await person('Eve')];
  await ada.call('POST', '/api/auth/provider/link', newIdentity());
  const [{ id }] = (await ada.call('GET', '/api/auth/identities')).body.data;
  for (const wrong of [id, 'f'.repeat(24), 'nothing'])
    expect((await eve.call('DELETE', `/api/auth/identities/${wrong}`)).status).toBe(404);
  await sql.query(`update sessions set created_at = now() - interval '2 hours' where user_id = $1`, [ada.id]);
  const refused = await ada.call('DELETE', `/api/auth/identities/${id}`);
  expect([refused.status, refused.body.error.code]).toEqual([403, 'RECENT_SIGN_IN_REQUIRED']);
  await ada.call('POST', '/api/auth/reauthenticate', { password });
  events.length = 0;
  expect((await ada.call('DELETE', `/api/auth/identities/${id}`)).status).toBe(204);
  expect(events).toContainEqual(['security.identity_removed', expect.objectContaining({ userId: ada.id })]);
});

test('the identities of a deleted user are removed, and the identity can create a new user', async () => {
  const identity = newIdentity();
  const first = (await signIn(identity)).body.data.user.id;
  await app.service('user').delete(first);
  expect((await signIn(identity)).body.data.user.id).not.toBe(first);
});

test('the reset of the password of an account with an unconfirmed address ends the identities and keys of the person who registered it', async () => {
  const mallory = await person('Mallory');
  await mallory.call('POST', '/api/auth/provider/link', newIdentity());
  await call('POST', '/api/auth/password/forgot', { email: mallory.email });
  const mail = await expect
    .poll(async () => (await app.captured.mails()).find(({ to }) => to === mallory.email))
    .toBeDefined()
    .then(async () => (await app.captured.mails()).find(({ to }) => to === mallory.email)!);
  const token = /token=([\w-]+)/.exec(mail.text)![1];
  await call('POST', '/api/auth/password/reset', { token, password: 'a staple that is new' });
  const { body } = await call('POST', '/api/auth/login', { email: mallory.email, password: 'a staple that is new' });
  expect(body.data.user.emailVerifiedAt).toMatch(/Z$/);
  expect((await createClient(url, body.data.token)('GET', '/api/auth/identities')).body.data).toEqual([]);
});
