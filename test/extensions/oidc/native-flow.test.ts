import { createHash } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { defineUser, oidc } from '../../../src/index.ts';
import { type Behavior, startFakeProvider } from '../../fakes/oidc-provider.ts';
import { startTestApp } from '../../support/app.ts';

const fake = await startFakeProvider();
const rotating = await startFakeProvider();
const options = { issuer: fake.issuer, clientId: fake.clientId, clientSecret: fake.clientSecret };
const events: unknown[] = [];
const { call, env, app } = await startTestApp({
  resources: [defineUser()],
  extensions: [
    oidc({
      providers: {
        acme: { ...options, audiences: ['com.example.app'] },
        hashed: { ...options, hashedNonce: true },
        rotating: { ...options, issuer: rotating.issuer },
        company: { ...options, accepts: ({ hd }) => hd === 'example.com' },
        plain: {
          clientId: 'plain',
          oauth2: {
            issuer: fake.issuer,
            authorizationEndpoint: `${fake.issuer}/authorize`,
            tokenEndpoint: `${fake.issuer}/token`,
            readClaims: async () => ({ sub: '1' }),
          },
        },
      },
    }),
  ],
});
app.on('security.oidc_failed', (payload) => void events.push(payload));
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());

let account = 0;
beforeEach(() => {
  account += 1;
  events.length = 0;
  fake.behave({});
  rotating.behave({});
});
const newNonce = async (provider = 'acme'): Promise<string> =>
  (await call('POST', `/api/auth/oidc/${provider}/nonce`)).body.data.nonce;
const claimsWith = (nonce: string) => ({
  sub: `sub-${account}`,
  nonce,
  email: `native-${account}@example.com`,
  email_verified: true,
});
const send = (idToken: string, nonce: string, provider = 'acme', more: object = {}) =>
  call('POST', `/api/auth/oidc/${provider}/token`, { idToken, nonce, ...more });

test('an app signs in with an ID token that contains a nonce of this app', async () => {
  const { status, headers, body } = await call('POST', '/api/auth/oidc/acme/nonce');
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(body.data).toEqual({ nonce: expect.stringMatching(/^[\w-]{43}$/), expiresAt: expect.any(String) });
  const { nonce } = body.data;
  const answer = await send(await fake.mint(claimsWith(nonce)), nonce, 'acme', { name: 'Ada Lovelace' });
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(answer.body.data.user).toMatchObject({ name: 'Ada Lovelace', email: `native-${account}@example.com` });
  const stored = await database.query('select method from sessions where user_id = $1', [answer.body.data.user.id]);
  expect(stored.rows).toEqual([{ method: 'oidc:acme' }]);
});

test('an ID token for one of the listed apps is accepted', async () => {
  const nonce = await newNonce();
  fake.behave({ claims: { aud: 'com.example.app', azp: 'com.example.app' } });
  expect((await send(await fake.mint(claimsWith(nonce)), nonce)).status).toBe(200);
});

test('a nonce works once, however many requests use it at the same time', async () => {
  const nonce = await newNonce();
  const idToken = await fake.mint(claimsWith(nonce));
  const answers = await Promise.all(Array.from({ length: 8 }, () => send(idToken, nonce)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(401)]);
});

test('a nonce that is expired, of another provider, or not from this app is refused', async () => {
  const ofOther = await newNonce('hashed');
  expect((await send(await fake.mint(claimsWith(ofOther)), ofOther)).status).toBe(401);
  expect((await send(await fake.mint(claimsWith('made-up')), 'made-up')).status).toBe(401);
  const nonce = await newNonce();
  await database.query(`update oidc_nonces set expires_at = now() - interval '1 minute'`);
  expect((await send(await fake.mint(claimsWith(nonce)), nonce)).status).toBe(401);
});

const seconds = () => Math.floor(Date.now() / 1000);
test.each<[string, () => Behavior]>([
  ['is unsigned', () => ({ signing: 'none' })],
  ['is signed with the public key as an HMAC secret', () => ({ signing: 'HS256 with public key' })],
  ['is signed with the client secret', () => ({ signing: 'HS256 with secret' })],
  ['is signed with a foreign key', () => ({ signing: 'foreign key' })],
  ['has a broken signature', () => ({ signing: 'broken' })],
  ['brings its own key', () => ({ signing: 'foreign key', header: { jwk: { kty: 'RSA' }, kid: undefined } })],
  ['names a key set of its own', () => ({ signing: 'foreign key', header: { jku: 'https://evil.example/jwks' } })],
  ['is for another client', () => ({ claims: { aud: 'another-client' } })],
  ['is for several clients and names none', () => ({ claims: { aud: ['fake-client', 'another-client'] } })],
  ['was requested by another client', () => ({ claims: { azp: 'another-client' } })],
  ['has no audience', () => ({ claims: { aud: undefined } })],
  ['has an empty list of audiences', () => ({ claims: { aud: [] } })],
  ['is from another issuer', () => ({ claims: { iss: 'https://evil.example' } })],
  ['is from an issuer with another slash', () => ({ claims: { iss: `${fake.issuer}/` } })],
  ['has no issuer', () => ({ claims: { iss: undefined } })],
  ['has no expiry', () => ({ claims: { exp: undefined } })],
  ['has an expiry that is a text', () => ({ claims: { exp: String(seconds() + 300) } })],
  ['has expired longer ago than clocks may differ', () => ({ claims: { exp: seconds() - 65 } })],
  ['is valid only later than clocks may differ', () => ({ claims: { nbf: seconds() + 70 } })],
  ['was issued later than clocks may differ', () => ({ claims: { iat: seconds() + 70 } })],
  ['has no time of issue', () => ({ claims: { iat: undefined } })],
  ['has no nonce', () => ({ claims: { nonce: undefined } })],
  ['has another nonce', () => ({ claims: { nonce: 'x'.repeat(43) } })],
  ['has a list of nonces', () => ({ claims: { nonce: ['x'] } })],
  ['has no subject', () => ({ claims: { sub: undefined } })],
  ['has an empty subject', () => ({ claims: { sub: '' } })],
  ['has a subject that is a number', () => ({ claims: { sub: 7 } })],
  ['has a subject that cannot be stored', () => ({ claims: { sub: 'a\0b' } })],
  ['has a subject that is too long', () => ({ claims: { sub: 'x'.repeat(256) } })],
])('an ID token that %s is refused with the same error, and its nonce stays valid', async (_, behavior) => {
  const nonce = await newNonce();
  fake.behave(behavior());
  const { status, body } = await send(await fake.mint(claimsWith(nonce)), nonce);
  expect([status, body.error.message]).toEqual([401, 'This ID token is not valid']);
  expect(events).toEqual([{ provider: 'acme', ip: expect.any(String) }]);
  fake.behave({});
  expect((await send(await fake.mint(claimsWith(nonce)), nonce)).status).toBe(200);
});

test.each<[string, () => Record<string, number>]>([
  ['expired', () => ({ exp: seconds() - 50 })],
  ['not yet valid', () => ({ nbf: seconds() + 50 })],
  ['issued in the future', () => ({ iat: seconds() + 50 })],
])('an ID token that is %s by less than a minute is accepted, because clocks differ', async (_, claims) => {
  const nonce = await newNonce();
  fake.behave({ claims: claims() });
  expect((await send(await fake.mint(claimsWith(nonce)), nonce)).status).toBe(200);
});

test('texts that are no tokens are refused, and validated before anything else', async () => {
  const nonce = await newNonce();
  for (const text of ['', 'a', 'a.b.c', 'e30.e30.', '{}', '.'.repeat(3000), 'a.b.c.d.e', '\u{1f600}.b.c'])
    expect((await send(text, nonce)).status, text).toBe(401);
  for (const body of [
    {},
    { idToken: 1, nonce },
    { idToken: 'a', nonce, more: 1 },
    { idToken: 'x'.repeat(20_000), nonce },
  ])
    expect((await call('POST', '/api/auth/oidc/acme/token', body)).status).toBe(422);
  expect((await send('a\0.b.c', nonce)).status).toBe(422);
});

test('only a provider with hashed nonces accepts the SHA-256 of the nonce', async () => {
  const hash = (nonce: string) => createHash('sha256').update(nonce).digest('hex');
  const nonce = await newNonce('hashed');
  expect((await send(await fake.mint(claimsWith(hash(nonce))), nonce, 'hashed')).status).toBe(200);
  const plain = await newNonce('hashed');
  expect((await send(await fake.mint(claimsWith(plain)), plain, 'hashed')).status).toBe(200);
  const other = await newNonce();
  expect((await send(await fake.mint(claimsWith(hash(other))), other)).status).toBe(401);
});

test('an account that the provider setting does not accept is refused', async () => {
  const nonce = await newNonce('company');
  expect((await send(await fake.mint(claimsWith(nonce)), nonce, 'company')).status).toBe(403);
  const own = await newNonce('company');
  expect((await send(await fake.mint({ ...claimsWith(own), hd: 'example.com' }), own, 'company')).status).toBe(200);
});

test('a provider without ID tokens has no native flow', async () => {
  expect((await call('POST', '/api/auth/oidc/plain/nonce')).status).toBe(404);
  expect((await send('a.b.c', 'x', 'plain')).status).toBe(404);
});

test('a new key is read when a token names it, but unknown keys cannot cause a request each', async () => {
  const sendNew = async () => {
    const nonce = await newNonce('rotating');
    return (await send(await rotating.mint(claimsWith(nonce)), nonce, 'rotating')).status;
  };
  const reads = () => rotating.requests.filter((path) => path === 'GET /jwks').length;
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    expect([await sendNew(), reads()]).toEqual([200, 1]);
    expect([await sendNew(), reads()]).toEqual([200, 1]);
    await rotating.rotate();
    vi.setSystemTime(Date.now() + 31_000);
    expect([await sendNew(), reads()]).toEqual([200, 2]);
    rotating.behave({ header: { kid: 'unknown' } });
    for (let i = 0; i < 5; i++) expect([await sendNew(), reads()]).toEqual([401, 2]);
    expect(rotating.requests.filter((path) => path.includes('openid-configuration'))).toHaveLength(1);
  } finally {
    vi.useRealTimers();
  }
});
