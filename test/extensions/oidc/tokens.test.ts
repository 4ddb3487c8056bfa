import { Client } from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { ExtensionHost } from '../../../src/extension/index.ts';
import { createOidcSweeps } from '../../../src/extensions/oidc/user-data.ts';
import { defineExtension, defineUser, type OidcApi, oidc, privacy } from '../../../src/index.ts';
import { startFakeProvider } from '../../fakes/oidc-provider.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { APP_URL, challengeOf, createBrowser, newVerifier, signInWith } from './oidc-browser.ts';

const acme = await startFakeProvider();
const options = { issuer: acme.issuer, clientId: acme.clientId, clientSecret: acme.clientSecret };
let host: ExtensionHost;
const probe = defineExtension({
  name: 'probe',
  setup(given) {
    host = given;
    return {};
  },
});
const { app, call, url, env, person } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [oidc({ providers: { acme: options, second: options }, storeTokens: true }), privacy(), probe],
  },
  { env: () => ({ APP_URL }) },
);
const without = await startTestApp(
  { resources: [defineUser()], extensions: [oidc({ providers: { acme: options } })] },
  { env: () => ({ APP_URL }) },
);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());

const apiOf = (of: unknown) => (of as { oidc: OidcApi }).oidc;
const { findTokens } = apiOf(app);
let account = 0;
beforeEach(() => {
  account += 1;
  const claims = { sub: `sub-${account}`, email: `token-${account}@example.com`, email_verified: true };
  acme.behave({ claims, tokenResponse: { refresh_token: 'refresh-1', scope: 'openid email' } });
});
const count = async (table: string, userId: string) =>
  (await database.query(`select count(*)::int as n from ${table} where user_id = $1`, [userId])).rows[0].n;

/** Starts linking in a browser: leaves a flow if `steps` is 2, a code if it is 3. */
async function startLinking(client: typeof call, steps: number): Promise<{ page: URL; verifier: string }> {
  const verifier = newVerifier();
  const started = await client('POST', '/api/auth/oidc/second/link', { codeChallenge: challengeOf(verifier) });
  const browser = createBrowser(url);
  let page = new URL(started.body.data.url);
  for (let i = 0; i < steps; i++) page = await browser.follow(page);
  return { page, verifier };
}

test('tokens are stored encrypted, replaced at the next sign-in, and readable by code', async () => {
  const { body } = await signInWith(url, call, 'acme');
  const { id } = body.data.user;
  expect(await findTokens(id, 'acme')).toEqual({
    accessToken: 'access-1',
    refreshToken: 'refresh-1',
    idToken: expect.stringMatching(/^ey/),
    scope: 'openid email',
    expiresAt: expect.any(String),
  });
  expect(await findTokens(id, 'second')).toBeUndefined();
  const { rows } = await database.query('select * from oidc_tokens');
  expect(JSON.stringify(rows)).not.toMatch(/access-1|refresh-1/);
  acme.behave({ claims: { sub: `sub-${account}` }, tokenResponse: { access_token: 'access-2' } });
  await signInWith(url, call, 'acme');
  expect((await findTokens(id, 'acme'))?.accessToken).toBe('access-2');
  expect(await count('oidc_tokens', id)).toBe(1);
});

test('without the setting, no tokens are stored', async () => {
  const { body } = await signInWith(without.url, without.call, 'acme');
  expect(await apiOf(without.app).findTokens(body.data.user.id, 'acme')).toBeUndefined();
});

test('linking stores tokens, and removing the identity makes them unreadable at once', async () => {
  const ada = await person('Ada');
  const { page, verifier } = await startLinking(ada.call, 3);
  const body = { code: page.searchParams.get('code'), codeVerifier: verifier };
  expect((await ada.call('POST', '/api/auth/oidc/second/link/complete', body)).status).toBe(204);
  expect((await findTokens(ada.id, 'second'))?.accessToken).toBe('access-1');
  const [identity] = (await ada.call('GET', '/api/auth/identities')).body.data;
  expect((await ada.call('DELETE', `/api/auth/identities/${identity.id}`)).status).toBe(204);
  expect(await findTokens(ada.id, 'second')).toBeUndefined();
});

test('an account that its owner claims loses the tokens and the links in progress of its creator', async () => {
  const email = `claimed-${account}@example.com`;
  acme.behave({ claims: { sub: `squatter-${account}`, email, email_verified: false } });
  const { body } = await signInWith(url, call, 'acme');
  const { id } = body.data.user;
  const squatter = createClient(url, body.data.token);
  await startLinking(squatter, 2);
  const { page, verifier } = await startLinking(squatter, 3);
  expect([await count('oidc_tokens', id), await count('oidc_flows', id), await count('oidc_codes', id)]).toEqual([
    1, 1, 1,
  ]);
  acme.behave({ claims: { sub: `owner-${account}`, email, email_verified: true } });
  const owner = await signInWith(url, call, 'second');
  expect(owner.body.data.user.id).toBe(id);
  expect([await count('oidc_flows', id), await count('oidc_codes', id)]).toEqual([0, 0]);
  expect(await findTokens(id, 'acme')).toBeUndefined();
  const given = { code: page.searchParams.get('code'), codeVerifier: verifier };
  expect(
    (await createClient(url, owner.body.data.token)('POST', '/api/auth/oidc/second/link/complete', given)).status,
  ).toBe(401);
});

test('logging out everywhere ends links in progress and keeps the tokens', async () => {
  const { body } = await signInWith(url, call, 'acme');
  const ada = createClient(url, body.data.token);
  await startLinking(ada, 0);
  await startLinking(ada, 3);
  expect((await ada('POST', '/api/auth/logout-all', {})).status).toBeLessThan(300);
  const { id } = body.data.user;
  expect([await count('oidc_tokens', id), await count('oidc_flows', id), await count('oidc_codes', id)]).toEqual([
    1, 0, 0,
  ]);
});

test('a deleted user leaves nothing', async () => {
  const { body } = await signInWith(url, call, 'acme');
  const { id } = body.data.user;
  await startLinking(createClient(url, body.data.token), 0);
  await app.service('user').delete(id);
  expect([await count('oidc_tokens', id), await count('oidc_flows', id)]).toEqual([0, 0]);
});

test('an export lists stored tokens without the tokens, and an erasure removes them', async () => {
  const { body } = await signInWith(url, call, 'acme');
  const { id } = body.data.user;
  await startLinking(createClient(url, body.data.token), 0);
  const section = host.userData().find(({ name }) => name === 'providerTokens')!;
  expect(await Array.fromAsync(section.rows(id))).toEqual([
    { provider: 'acme', subject: `sub-${account}`, createdAt: expect.any(String), updatedAt: expect.any(String) },
  ]);
  expect(await section.erase(id)).toBe(1);
  expect([await count('oidc_tokens', id), await count('oidc_flows', id)]).toEqual([0, 0]);
  expect(await section.erase(id)).toBe(0);
});

test('expired rows and tokens of removed identities are swept', async () => {
  const ada = await person('Ada');
  await startLinking(ada.call, 0);
  await startLinking(ada.call, 3);
  await call('POST', '/api/auth/oidc/acme/nonce');
  for (const table of ['oidc_flows', 'oidc_codes', 'oidc_nonces'])
    await database.query(`update ${table} set expires_at = now() - interval '1 second'`);
  const [expired, unlinked] = createOidcSweeps(host.database);
  expect(await expired!.run()).toBeGreaterThanOrEqual(3);
  for (const table of ['oidc_flows', 'oidc_codes', 'oidc_nonces'])
    expect((await database.query(`select 1 from ${table}`)).rowCount).toBe(0);
  const { body } = await signInWith(url, call, 'acme');
  const { id } = body.data.user;
  await database.query('delete from user_identities where user_id = $1', [id]);
  expect(await unlinked!.run()).toBeGreaterThanOrEqual(1);
  expect(await count('oidc_tokens', id)).toBe(0);
});
