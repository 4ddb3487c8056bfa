import { beforeEach, expect, test } from 'vitest';
import { createApp, defineUser, oidc } from '../../../src/index.ts';
import { type Behavior, type FakeProvider, startFakeProvider } from '../../fakes/oidc-provider.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { APP_URL, createBrowser, newVerifier } from './oidc-browser.ts';

// The cases of the relying-party profile of the OpenID conformance suite (oidcc-client-test-plan, response type `code`) that need no hosted
// suite: https://gitlab.com/openid/conformance-suite, src/main/java/net/openid/conformance/openid/client

const base = 'http://127.0.0.1';
const fakes: Record<'RS256' | 'ES256', FakeProvider> = {
  RS256: await startFakeProvider(),
  ES256: await startFakeProvider({ alg: 'ES256' }),
};
const options = (fake: FakeProvider) => ({
  issuer: fake.issuer,
  clientId: fake.clientId,
  clientSecret: fake.clientSecret,
});
const providers = Object.fromEntries(
  Object.entries(fakes).map(([alg, fake]) => [alg.toLowerCase(), options(fake)] as const),
);
const appOptions = { resources: [defineUser()], extensions: [oidc({ providers })] } as const;
const { env } = await startTestApp(appOptions, { env: () => ({ APP_URL }) });

let count = 0;
const claims = () => ({ sub: `sub-${++count}`, email: `user-${count}@example.com`, email_verified: true });
beforeEach(() => {
  for (const fake of Object.values(fakes)) fake.behave({ claims: claims() });
});

/** Signs in at an app that has not read metadata or keys yet. Returns the error of the page, or the status of the exchange. */
async function signInFresh(alg: keyof typeof fakes, behavior: Behavior): Promise<string | number> {
  const app = createApp({ ...appOptions, settings: { auth: { password: { logN: 4, r: 8, p: 1 } } } }, env);
  const { url } = await app.start({ port: 0, roles: ['web'] });
  try {
    fakes[alg].behave({ ...behavior, claims: { ...claims(), ...behavior.claims } });
    const verifier = newVerifier();
    const browser = createBrowser(url);
    const response = await browser.open(
      `${APP_URL}/api/auth/oidc/${alg.toLowerCase()}/start?codeChallenge=${'a'.repeat(43)}`,
    );
    if (response.status !== 303) return response.status;
    const page = await browser.signIn(alg.toLowerCase(), verifier);
    const code = page.searchParams.get('code');
    if (code === null) return page.searchParams.get('error')!;
    return (await createClient(url)('POST', '/api/auth/oidc/exchange', { code, codeVerifier: verifier })).status;
  } finally {
    await app.close();
  }
}

const now = () => Math.floor(Date.now() / 1000);
const REFUSED = 'provider_error';

test.each<[name: string, expected: string | number, behavior: Behavior, alg?: keyof typeof fakes]>([
  ['oidcc-client-test', 200, {}],
  ['oidcc-client-test (ES256)', 200, {}, 'ES256'],
  ['oidcc-client-test-invalid-iss', REFUSED, { claims: { iss: `${base}/evil` } }],
  ['oidcc-client-test-missing-iss', REFUSED, { claims: { iss: undefined } }],
  ['oidcc-client-test-missing-sub', REFUSED, { claims: { sub: undefined } }],
  ['oidcc-client-test-missing-aud', REFUSED, { claims: { aud: undefined } }],
  ['oidcc-client-test-missing-iat', REFUSED, { claims: { iat: undefined } }],
  ['oidcc-client-test-missing-exp', REFUSED, { claims: { exp: undefined } }],
  ['oidcc-client-test-invalid-aud', REFUSED, { claims: { aud: 'another-client' } }],
  ['oidcc-client-test-multiple-aud without azp', REFUSED, { claims: { aud: ['fake-client', 'another-client'] } }],
  [
    'oidcc-client-test-invalid-azp',
    REFUSED,
    { claims: { aud: ['fake-client', 'another-client'], azp: 'another-client' } },
  ],
  ['oidcc-client-test-valid-azp', 200, { claims: { aud: ['fake-client', 'another-client'], azp: 'fake-client' } }],
  ['oidcc-client-test-invalid-nonce', REFUSED, { claims: { nonce: 'another-nonce' } }],
  ['oidcc-client-test-missing-nonce', REFUSED, { claims: { nonce: undefined } }],
  ['oidcc-client-test-expired', REFUSED, { claims: { exp: now() - 600 } }],
  ['oidcc-client-test-not-yet-valid', REFUSED, { claims: { nbf: now() + 600 } }],
  ['oidcc-client-test-iat-in-future', REFUSED, { claims: { iat: now() + 600 } }],
  ['oidcc-client-test-invalid-sig-rs256', REFUSED, { signing: 'broken' }],
  ['oidcc-client-test-invalid-sig-es256', REFUSED, { signing: 'broken' }, 'ES256'],
  ['oidcc-client-test-invalid-sig-hs256', REFUSED, { signing: 'HS256 with secret' }],
  ['HS256 signed with the public key', REFUSED, { signing: 'HS256 with public key' }],
  ['signed with the key of another provider under a known kid', REFUSED, { signing: 'foreign key' }],
  ['oidcc-client-test-idtoken-sig-none', REFUSED, { signing: 'none' }],
  ['oidcc-client-test-missing-id-token', REFUSED, { tokenResponse: { id_token: undefined } }],
  ['oidcc-client-test-kid-absent-single-jwks', 200, { header: { kid: undefined } }],
  [
    'oidcc-client-test-kid-absent-multiple-jwks',
    REFUSED,
    { header: { kid: undefined }, jwks: ([key]) => [key!, { ...key!, kid: 'second' }] },
  ],
  ['a kid that no key has', REFUSED, { header: { kid: 'unknown' } }],
  ['a key that is published for encryption only', REFUSED, { jwks: ([key]) => [{ ...key!, use: 'enc' }] }],
  ['a critical header that is not understood', REFUSED, { header: { crit: ['exp2'], exp2: 1 } }],
  [
    'oidcc-client-test-userinfo-bearer-header',
    200,
    {
      claims: { email: undefined, email_verified: undefined },
      userInfo: { email: 'info@example.com', email_verified: true },
    },
  ],
  [
    'oidcc-client-test-userinfo-invalid-sub',
    REFUSED,
    { claims: { email: undefined }, userInfo: { sub: 'another', email: 'info2@example.com' } },
  ],
  [
    'oidcc-client-test-userinfo-missing-sub',
    REFUSED,
    { claims: { email: undefined }, userInfo: { sub: undefined, email: 'info2@example.com' } },
  ],
  ['oidcc-client-test-discovery-issuer-mismatch', 503, { metadata: { issuer: `${base}/evil` } }],
  ['oidcc-client-test-discovery-jwks-uri-missing', 503, { metadata: { jwks_uri: undefined } }],
  ['an authorization endpoint that is missing', 503, { metadata: { authorization_endpoint: undefined } }],
  ['a token response of another type', REFUSED, { tokenResponse: { token_type: 'mac' } }],
  ['an ID token that is no token', REFUSED, { tokenResponse: { id_token: 'a.b.c' } }],
  ['an ID token that is a list', REFUSED, { tokenResponse: { id_token: ['a'] } }],
])('%s', async (_name, expected, behavior, alg = 'RS256') => {
  expect(await signInFresh(alg, behavior)).toBe(expected);
});

test('oidcc-client-test-client-secret-basic: the method that the provider supports is used', async () => {
  let authorization: string | undefined;
  const intercept: Behavior['intercept'] = (path, req) => {
    if (path === 'POST /token') authorization = req.headers.authorization;
    return false;
  };
  await signInFresh('RS256', {
    metadata: { token_endpoint_auth_methods_supported: ['client_secret_basic'] },
    intercept,
  });
  expect(authorization).toMatch(/^Basic /);
  expect(fakes.RS256.lastTokenRequest().has('client_secret')).toBe(false);
});

test('oidcc-client-test-signing-key-rotation: a new key is read when a token names it', async () => {
  expect(await signInFresh('RS256', {})).toBe(200);
  await fakes.RS256.rotate();
  expect(await signInFresh('RS256', {})).toBe(200);
});
