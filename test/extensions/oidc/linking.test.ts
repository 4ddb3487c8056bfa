import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { defineUser, f, oidc, twoFactor } from '../../../src/index.ts';
import { startFakeProvider } from '../../fakes/oidc-provider.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { codeOf, forget, verify as verifyCode } from '../two-factor/two-factor-user.ts';
import { APP_URL, signInWith } from './oidc-browser.ts';

const acme = await startFakeProvider();
const other = await startFakeProvider();
const providerOptions = (fake: typeof acme) => ({
  issuer: fake.issuer,
  clientId: fake.clientId,
  clientSecret: fake.clientSecret,
});
const providers = { acme: providerOptions(acme), other: providerOptions(other) };
const user = defineUser({ fields: { plan: f.string() } });
const { call, url, env, app } = await startTestApp(
  {
    resources: [user],
    extensions: [oidc({ providers, createUser: ({ plan }, provider) => ({ plan: plan ?? provider }) })],
  },
  { env: () => ({ APP_URL }) },
);
const closed = await startTestApp(
  { resources: [defineUser()], extensions: [oidc({ providers })], settings: { auth: { register: false } } },
  { env: () => ({ APP_URL }) },
);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
const observer = new Client({ connectionString: env.DATABASE_URL! });
await observer.connect();
afterAll(async () => {
  await database.end();
  await observer.end();
});

const PASSWORD = 'correct horse battery';
let count = 0;
const newAddress = () => `person-${++count}@example.com`;
const register = async (email: string) =>
  (await call('POST', '/api/auth/register', { name: 'Someone', email, password: PASSWORD })).body.data;
const logIn = (email: string) => call('POST', '/api/auth/login', { email, password: PASSWORD });
const verify = (id: string) =>
  app.service('user').update(id, { emailVerifiedAt: new Date().toISOString() } as never, { as: 'system' });

/** Signs in at a provider with these claims. */
function signIn(claims: Record<string, unknown>, provider: 'acme' | 'other' = 'acme') {
  (provider === 'acme' ? acme : other).behave({ claims: { sub: `sub-${count}`, ...claims } });
  return signInWith(url, call, provider);
}

test('an account is linked by its address if both sides have verified it', async () => {
  const email = newAddress();
  const { user: ada } = await register(email);
  await verify(ada.id);
  const { status, body } = await signIn({ email: email.toUpperCase(), email_verified: true });
  expect([status, body.data.user.id]).toEqual([200, ada.id]);
  // The owner of the address has created the account, so the password stays.
  expect((await logIn(email)).status).toBe(200);
});

test('wrong passwords do not lock the sign-in at a provider', async () => {
  const email = newAddress();
  const { user: ada } = await register(email);
  await verify(ada.id);
  for (let i = 0; i < 5; i++) await call('POST', '/api/auth/login', { email, password: 'wrong horse battery' });
  const { status, body } = await signIn({ email, email_verified: true });
  expect([status, body.data.user.id]).toEqual([200, ada.id]);
  expect((await logIn(email)).status).toBe(429);
});

test('an address that the provider has not verified neither links nor verifies', async () => {
  const email = newAddress();
  const { user: ada } = await register(email);
  await verify(ada.id);
  for (const email_verified of [false, undefined, 'false', 'true', 1, null, {}]) {
    const { status, body } = await signIn({ sub: `unverified-${count}`, email, email_verified });
    expect([status, body.error.code], String(email_verified)).toEqual([409, 'CONFLICT']);
  }
  const created = await signIn({ email: newAddress(), email_verified: false });
  const me = createClient(url, created.body.data.token);
  expect((await me('GET', '/api/auth/me')).body.data.emailVerifiedAt ?? null).toBeNull();
});

test('an attacker who registers the address of a victim in advance loses the account when the victim signs in with a provider', async () => {
  const email = newAddress();
  const { user: squatted, token } = await register(email);
  const { body } = await signIn({ email, email_verified: true });
  expect(body.data.user.id).toBe(squatted.id);
  expect((await logIn(email)).status).toBe(401);
  expect((await createClient(url, token)('GET', '/api/auth/me')).status).toBe(401);
});

test('an attacker who has linked a provider to the squatted account cannot use it after the victim has signed in', async () => {
  // Trojan identifier: the attacker's own identity, linked to an account with the address of the victim.
  const email = newAddress();
  const trojan = { sub: `trojan-${count}`, email, email_verified: false };
  const squatted = (await signIn(trojan, 'other')).body.data.user;
  expect((await signIn({ email, email_verified: true })).body.data.user.id).toBe(squatted.id);
  const again = await signIn(trojan, 'other');
  expect([again.status, again.body.error.code]).toEqual([409, 'CONFLICT']);
});

test('a provider that verifies no addresses cannot take over an account', async () => {
  const email = newAddress();
  const victim = (await signIn({ email, email_verified: true })).body.data.user;
  const attack = await signIn({ sub: `attack-${count}`, email, email_verified: false }, 'other');
  expect(attack.status).toBe(409);
  expect((await signIn({ email, email_verified: true })).body.data.user.id).toBe(victim.id);
});

test('an address that only looks like that of another user is another address, or none', async () => {
  const email = `kelvin-${++count}@example.com`;
  const { user: victim } = await register(email);
  await verify(victim.id);
  // The lower case of the Kelvin sign is a k.
  const lookalikes = [
    email.replace('k', '\u212a'),
    email.replace('e', '\u0435'),
    email.replace('@example', '@\u0435xample'),
    ` ${email}`,
    `${email}\n`,
    `\u00a0${email}`,
    `${email}\u200b`,
    `"${email}"`,
    `<${email}>`,
    `Victim <${email}>`,
    `${email},evil@example.com`,
    email.replace('@', '@@'),
  ];
  for (const [i, lookalike] of lookalikes.entries()) {
    const { status, body } = await signIn({ sub: `look-${count}-${i}`, email: lookalike, email_verified: true });
    expect([status, body.error?.details], JSON.stringify(lookalike)).toEqual([422, { email: 'Is required' }]);
  }
  const plus = await signIn({ sub: `plus-${count}`, email: email.replace('@', '+x@'), email_verified: true });
  expect(plus.status).toBe(200);
  expect(plus.body.data.user.id).not.toBe(victim.id);
  const dotted = await signIn({ sub: `dot-${count}`, email: email.replace('kel', 'k.el'), email_verified: true });
  expect(dotted.body.data.user.id).not.toBe(victim.id);
});

test('the same subject at two providers is two accounts', async () => {
  const first = await signIn({ sub: 'same', email: newAddress(), email_verified: true });
  const second = await signIn({ sub: 'same', email: newAddress(), email_verified: true }, 'other');
  expect(second.body.data.user.id).not.toBe(first.body.data.user.id);
});

test('many first sign-ins of one person at the same time create one user', async () => {
  const email = newAddress();
  acme.behave({ claims: { sub: `race-${count}`, email, email_verified: true } });
  const answers = await Promise.all(Array.from({ length: 6 }, () => signInWith(url, call, 'acme')));
  expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
  expect(new Set(answers.map(({ body }) => body.data.user.id)).size).toBe(1);
});

test('a user without an address at the provider is not created', async () => {
  const { status, body } = await signIn({ sub: 'no-address', email: undefined });
  expect([status, body.error.details]).toEqual([422, { email: 'Is required' }]);
});

test('createUser adds fields to new users only, and cannot replace the address', async () => {
  const email = newAddress();
  const created = await signIn({ email, email_verified: true, plan: 'gold' });
  expect(created.body.data.user).toMatchObject({ plan: 'gold', email, name: email.slice(0, email.indexOf('@')) });
  expect((await signIn({ email, email_verified: true, plan: 'free' })).body.data.user.plan).toBe('gold');
});

test.each([
  ['too long', 'x'.repeat(300), 'x'.repeat(100)],
  ['with control characters', 'Ada\n\u0007 Lovelace\0', 'Ada   Lovelace'],
  ['of emoji, cut between characters', '\u{1f600}'.repeat(80), '\u{1f600}'.repeat(50)],
  ['with a broken character', 'Ada\ud800', 'Ada\ufffd'],
])('a name that is %s is made to fit', async (_, name, expected) => {
  const { body } = await signIn({ sub: `name-${++count}`, email: newAddress(), email_verified: true, name });
  expect(body.data?.user.name).toBe(expected);
});

test('a disabled user cannot sign in with a provider', async () => {
  const email = newAddress();
  const { body } = await signIn({ email, email_verified: true });
  await app.service('user').update(body.data.user.id, { status: 'disabled' } as never, { as: 'system' });
  expect((await signIn({ email, email_verified: true })).status).toBe(403);
});

test('while registration is closed, unknown people are refused and known ones sign in', async () => {
  const email = newAddress();
  acme.behave({ claims: { sub: `closed-${count}`, email, email_verified: true } });
  expect((await signInWith(closed.url, closed.call, 'acme')).status).toBe(403);
  const input = { name: 'Ada', email, password: PASSWORD, emailVerifiedAt: new Date().toISOString() };
  await closed.app.service('user').create(input as never, { as: 'system' });
  expect((await signInWith(closed.url, closed.call, 'acme')).status).toBe(200);
});

test('while registration is closed, an address that the provider has not verified gets the same response with and without an account', async () => {
  const email = newAddress();
  await closed.app.service('user').create({ name: 'Ada', email, password: PASSWORD }, { as: 'system' } as never);
  const attempt = async (address: string) => {
    acme.behave({ claims: { sub: `unverified-${++count}`, email: address, email_verified: false } });
    const { status, body } = await signInWith(closed.url, closed.call, 'acme');
    return [status, body.error.code, body.error.message];
  };
  expect(await attempt(email)).toEqual([403, 'FORBIDDEN', 'Registration is closed']);
  expect(await attempt(newAddress())).toEqual(await attempt(email));
});

test('a name that does not fit the field of the app is shortened or left out, so that the default decides', async () => {
  const name = f.string().min(4).max(8).default('Member');
  const named = await startTestApp(
    { resources: [defineUser({ fields: { name } })], extensions: [oidc({ providers })] },
    { env: () => ({ APP_URL }) },
  );
  const nameOf = async (given: string) => {
    acme.behave({ claims: { sub: `named-${++count}`, email: newAddress(), email_verified: true, name: given } });
    return (await signInWith(named.url, named.call, 'acme')).body.data?.user.name;
  };
  expect([await nameOf('Ada Lovelace'), await nameOf('Ada')]).toEqual(['Ada Love', 'Member']);
});

test('a user with a second factor gets no session from the provider alone', async () => {
  const protectedApp = await startTestApp(
    { resources: [defineUser()], extensions: [oidc({ providers }), twoFactor()] },
    { env: () => ({ APP_URL }) },
  );
  const client = new Client({ connectionString: protectedApp.env.DATABASE_URL! });
  await client.connect();
  onTestFinished(() => client.end());
  acme.behave({ claims: { sub: 'two-factor', email: newAddress(), email_verified: true } });
  const first = await signInWith(protectedApp.url, protectedApp.call, 'acme');
  const me = createClient(protectedApp.url, first.body.data.token);
  const { secret } = (await me('POST', '/api/auth/2fa/enrol', {})).body.data;
  const person = { ...first.body.data.user, call: me };
  expect((await me('POST', '/api/auth/2fa/confirm', { code: codeOf(secret) })).status).toBe(200);
  await forget(person, client);
  const { status, body } = await signInWith(protectedApp.url, protectedApp.call, 'acme');
  expect([status, body.data.mfaRequired, body.data.token]).toEqual([200, true, undefined]);
  const verified = await verifyCode(protectedApp.call, body.data.mfaToken, codeOf(secret));
  expect(verified.status).toBe(200);
  const sessions = await client.query('select method from sessions order by created_at desc limit 1');
  expect(sessions.rows).toEqual([{ method: 'oidc:acme' }]);
});

test('an account that is claimed while its creator signs in gives the creator no session', async () => {
  const email = newAddress();
  const trojan = { sub: `racing-${count}`, email, email_verified: false };
  const squatted = (await signIn(trojan, 'other')).body.data.user;
  // The exchange waits for the lock on the user. Meanwhile the identity ends, as in a claim.
  await database.query('begin');
  await database.query('select from users where id = $1 for update', [squatted.id]);
  const waiting = signIn(trojan, 'other');
  await vi.waitUntil(async () => {
    const { rows } = await observer.query(
      `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
    );
    return rows[0].n > 0;
  });
  await database.query('delete from user_identities where user_id = $1', [squatted.id]);
  await database.query('commit');
  expect((await waiting).status).toBe(401);
});
