import { generateKeyPairSync } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { jwtVerify } from 'jose';
import { afterAll, expect, test, vi } from 'vitest';
import { apple, defineUser, discord, github, gitlab, google, microsoft, oidc } from '../../../../src/index.ts';
import { type Behavior, startFakeProvider } from '../../../fakes/oidc-provider.ts';
import { createClient, startTestApp } from '../../../support/app.ts';
import { APP_URL, challengeOf, createBrowser, newVerifier, signInWith } from '../oidc-browser.ts';

const fake = await startFakeProvider();
const realFetch = globalThis.fetch;
const HOSTS = [
  ...['accounts.google.com', 'appleid.apple.com', 'login.microsoftonline.com', 'gitlab.com', 'discord.com'],
  ...['github.com', 'api.github.com'],
];
// The names of these hosts cannot lead to the fake. Everything else is as in production: paths, TLS rules, checks.
vi.stubGlobal('fetch', (input: string | URL | Request, init?: RequestInit) => {
  const url = new URL(input instanceof Request ? input.url : input);
  if (!HOSTS.includes(url.host)) return realFetch(input, init);
  const path = /(authorize|token|jwks|openid-configuration)$/.exec(url.pathname.replace('access_token', 'token'))?.[0];
  const local =
    path === undefined ? url.pathname : path === 'openid-configuration' ? `/.well-known/${path}` : `/${path}`;
  return realFetch(`${fake.issuer}${local}${url.search}`, init);
});
afterAll(() => void vi.unstubAllGlobals());

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const credentials = { clientId: fake.clientId, clientSecret: fake.clientSecret };
const TENANT = '9f2c3a44-5a0e-4d4b-8f5f-2f6f6f6f6f6f';
const { call, url, app } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [
      oidc({
        providers: {
          google: google(credentials),
          workspace: google({ ...credentials, hostedDomain: 'example.com' }),
          apple: apple({
            clientId: fake.clientId,
            teamId: 'TEAM',
            keyId: 'KEY',
            privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
          }),
          microsoft: microsoft({ ...credentials, tenant: 'common' }),
          tenant: microsoft({ ...credentials, tenant: TENANT }),
          gitlab: gitlab(credentials),
          github: github(credentials),
          discord: discord(credentials),
        },
      }),
    ],
  },
  { env: () => ({ APP_URL }) },
);

/** Makes the fake answer as this issuer. */
function present(issuer: string, behavior: Behavior = {}, iss = issuer): void {
  const origin = new URL(issuer).origin;
  fake.behave({
    ...behavior,
    metadata: {
      issuer,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      jwks_uri: `${origin}/jwks`,
      userinfo_endpoint: undefined,
      authorization_response_iss_parameter_supported: undefined,
    },
    claims: { iss, ...behavior.claims },
    callback: { iss: undefined, ...behavior.callback },
  });
}
const isVerified = async (token: string) =>
  typeof (await createClient(url, token)('GET', '/api/auth/me')).body.data.emailVerifiedAt === 'string';
const errorAt = async (provider: string) =>
  (await createBrowser(url).signIn(provider, newVerifier())).searchParams.get('error');

test('Google: the address counts as verified if the claim says so', async () => {
  present('https://accounts.google.com', { claims: { sub: 'g1', email: 'g1@example.com', email_verified: true } });
  const { body } = await signInWith(url, call, 'google');
  expect(await isVerified(body.data.token)).toBe(true);
});

test('Google: with a hosted domain, accounts of other domains are refused, whatever the page at Google shows', async () => {
  present('https://accounts.google.com', { claims: { sub: 'g2', email: 'g2@evil.example', email_verified: true } });
  expect((await createBrowser(url).start('workspace')).searchParams.get('hd')).toBe('example.com');
  expect(await errorAt('workspace')).toBe('account_refused');
  const claims = { sub: 'g3', hd: 'example.com', email: 'g3@example.com', email_verified: true };
  present('https://accounts.google.com', { claims });
  expect((await signInWith(url, call, 'workspace')).status).toBe(200);
});

test('Apple: posts a form, gets a signed client secret, and sends the verification as a text', async () => {
  const issuer = 'https://appleid.apple.com';
  present(issuer, { claims: { sub: 'a1', email: 'a1@privaterelay.appleid.com', email_verified: 'true' } });
  const browser = createBrowser(url);
  const verifier = newVerifier();
  const authorization = await browser.start('apple', { verifier });
  expect(authorization.origin).toBe(issuer);
  expect(authorization.searchParams.get('response_mode')).toBe('form_post');
  const callback = await browser.follow(authorization);
  const page = await browser.follow(`${APP_URL}/api/auth/oidc/apple/callback`, {
    method: 'POST',
    body: callback.searchParams,
  });
  const code = page.searchParams.get('code');
  const { body } = await call('POST', '/api/auth/oidc/exchange', { code, codeVerifier: verifier });
  expect(await isVerified(body.data.token)).toBe(true);
  const secret = fake.lastTokenRequest().get('client_secret')!;
  const { payload, protectedHeader } = await jwtVerify(secret, publicKey, { audience: issuer, issuer: 'TEAM' });
  expect(protectedHeader).toEqual({ alg: 'ES256', kid: 'KEY' });
  expect(payload.sub).toBe(fake.clientId);
  expect(payload.exp! - payload.iat!).toBe(300);
});

const microsoftIssuer = (tenant: string) => `https://login.microsoftonline.com/${tenant}/v2.0`;

test.each([
  [undefined, false],
  [false, false],
  ['0', false],
  [true, true],
  [1, true],
  ['1', true],
])('Microsoft: with xms_edov %j, the address is verified: %s', async (xms_edov, expected) => {
  const suffix = `${typeof xms_edov}-${xms_edov}`;
  // The claim that other providers use means nothing here: the administrator of a tenant decides.
  const claims = { sub: `m-${suffix}`, tid: TENANT, email: `m-${suffix}@example.com`, email_verified: true, xms_edov };
  present(microsoftIssuer('{tenantid}'), { claims }, microsoftIssuer(TENANT));
  const { body } = await signInWith(url, call, 'microsoft');
  expect(await isVerified(body.data.token)).toBe(expected);
});

test('Microsoft: another tenant cannot take over an account by entering its address', async () => {
  const { id } = await app
    .service('user')
    .create({ name: 'Ada', email: 'ada@example.com', password: 'correct horse battery' });
  await app.service('user').update(id, { emailVerifiedAt: new Date().toISOString() } as never, { as: 'system' });
  const evil = '11111111-2222-3333-4444-555555555555';
  const claims = { sub: 'evil', tid: evil, email: 'ada@example.com', email_verified: true };
  present(microsoftIssuer('{tenantid}'), { claims }, microsoftIssuer(evil));
  expect((await signInWith(url, call, 'microsoft')).status).toBe(409);
});

test('Microsoft: the issuer must be that of the tenant in the token', async () => {
  const claims = { sub: 'm9', tid: TENANT, email: 'm9@example.com' };
  present(microsoftIssuer('{tenantid}'), { claims }, microsoftIssuer('another-tenant'));
  expect(await errorAt('microsoft')).toBe('provider_error');
  present(microsoftIssuer('{tenantid}'), { claims: { ...claims, tid: '../evil' } }, microsoftIssuer('../evil'));
  expect(await errorAt('microsoft')).toBe('provider_error');
});

test('Microsoft: a single tenant refuses the tokens of another one', async () => {
  const claims = { sub: 'm10', tid: 'another-tenant', email: 'm10@example.com' };
  present(microsoftIssuer(TENANT), { claims }, microsoftIssuer('another-tenant'));
  expect(await errorAt('tenant')).toBe('provider_error');
  present(microsoftIssuer(TENANT), { claims: { ...claims, tid: TENANT } }, microsoftIssuer(TENANT));
  expect((await signInWith(url, call, 'tenant')).status).toBe(200);
});

test('GitLab: signs in by its issuer', async () => {
  present('https://gitlab.com', { claims: { sub: '7', email: 'gl@example.com', email_verified: true } });
  expect((await signInWith(url, call, 'gitlab')).status).toBe(200);
});

const json = (res: ServerResponse, value: unknown) =>
  res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));

/** Makes the fake answer as a provider of OAuth 2 without ID tokens. */
function presentApi(answers: Record<string, unknown>, authorization: (string | undefined)[] = []): void {
  fake.behave({
    tokenResponse: { id_token: undefined },
    callback: { iss: undefined },
    intercept(path, req, res) {
      if (!(path in answers)) return false;
      authorization.push(req.headers.authorization);
      json(res, answers[path]);
      return true;
    },
  });
}

test('GitHub: uses the primary address if it is verified, and the number of the account as its id', async () => {
  const authorization: string[] = [];
  presentApi(
    {
      'GET /user': { id: 42, login: 'ada', name: null, email: 'public@example.com' },
      'GET /user/emails': [
        { email: 'other@example.com', primary: false, verified: true },
        { email: 'gh@example.com', primary: true, verified: true },
      ],
    },
    authorization,
  );
  const start = await createBrowser(url).start('github');
  expect(start.searchParams.has('nonce')).toBe(false);
  expect(start.searchParams.get('code_challenge_method')).toBe('S256');
  const { body } = await signInWith(url, call, 'github');
  expect(body.data.user).toMatchObject({ name: 'ada', email: 'gh@example.com' });
  expect(await isVerified(body.data.token)).toBe(true);
  expect(authorization).toEqual(['Bearer access-1', 'Bearer access-1']);
});

test('GitHub: an address that is not both primary and verified is not used', async () => {
  presentApi({
    'GET /user': { id: 43, login: 'eve', email: 'gh@example.com' },
    'GET /user/emails': [
      { email: 'gh@example.com', primary: true, verified: false },
      { email: 'other@example.com', primary: false, verified: true },
    ],
  });
  const { status, body } = await signInWith(url, call, 'github');
  expect([status, body.error.details]).toEqual([422, { email: 'Is required' }]);
});

test.each([
  [true, true],
  [false, false],
  [undefined, false],
])('Discord: with verified %s, the address is verified: %s', async (verified, expected) => {
  const suffix = String(verified);
  const user = {
    id: `d-${suffix}`,
    username: 'ada',
    global_name: 'Ada L.',
    email: `d-${suffix}@example.com`,
    verified,
  };
  presentApi({ 'GET /api/users/@me': user });
  const { body } = await signInWith(url, call, 'discord');
  expect(body.data.user.name).toBe('Ada L.');
  expect(await isVerified(body.data.token)).toBe(expected);
});

test.each([
  ['github', { 'GET /user': { login: 'x' }, 'GET /user/emails': [] }],
  ['github', { 'GET /user': { id: 1, login: 'x' } }],
  ['discord', { 'GET /api/users/@me': { message: '401: Unauthorized' } }],
])('%s: an unexpected response of the API is refused', async (provider, answers) => {
  presentApi(answers);
  expect(await errorAt(provider)).toBe('provider_error');
});

test('the native flow is for providers with ID tokens', async () => {
  const challenge = challengeOf(newVerifier());
  expect((await call('GET', `/api/auth/oidc/github/start?codeChallenge=${challenge}`)).status).toBe(303);
  expect((await call('POST', '/api/auth/oidc/github/nonce')).status).toBe(404);
  expect((await call('POST', '/api/auth/oidc/apple/nonce')).status).toBe(200);
});
