import { expect, test } from 'vitest';
import { defineUser, oidc, simulatedProvider } from '../../../../src/index.ts';
import { createClient, startTestApp } from '../../../support/app.ts';
import { APP_URL, createBrowser, newVerifier } from '../oidc-browser.ts';

const people = [
  { name: 'Ada <b>Lovelace</b>', email: 'ada@example.com' },
  { name: 'Alan Turing', email: 'alan@example.com', emailVerified: false },
];
const { call, url } = await startTestApp(
  { resources: [defineUser()], extensions: [oidc({ providers: { simulated: simulatedProvider({ people }) } })] },
  { env: () => ({ APP_URL }) },
);

/** A browser that keeps the cookies of the simulated provider. */
function createVisitor() {
  const jar = new Map<string, string>();
  return async function visit(target: string | URL, form?: Record<string, string>): Promise<Response> {
    const cookie = Array.from(jar, ([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(target, {
      method: form === undefined ? 'GET' : 'POST',
      headers: { cookie },
      body: form === undefined ? null : new URLSearchParams(form),
      redirect: 'manual',
    });
    for (const set of response.headers.getSetCookie()) {
      const [pair] = set.split(';', 1) as [string];
      const equals = pair.indexOf('=');
      jar.set(pair.slice(0, equals), pair.slice(equals + 1));
    }
    return response;
  };
}

/** Goes through the provider's page, sends the form, and returns the response of the exchange or the error of the page. */
async function choose(form: Record<string, string>) {
  const browser = createBrowser(url);
  const visit = createVisitor();
  const verifier = newVerifier();
  const authorization = await browser.start('simulated', { verifier });
  const page = new URL((await visit(authorization)).headers.get('location')!, authorization);
  const html = await (await visit(page)).text();
  let target = new URL((await visit(page, form)).headers.get('location')!, authorization);
  while (!target.href.startsWith(APP_URL)) target = new URL((await visit(target)).headers.get('location')!, target);
  const end = await browser.follow(target);
  const code = end.searchParams.get('code');
  if (code === null) return { html, error: end.searchParams.get('error') };
  const { body } = await call('POST', '/api/auth/oidc/exchange', { code, codeVerifier: verifier });
  const me = await createClient(url, body.data.token)('GET', '/api/auth/me');
  return { html, user: me.body.data };
}

test('a developer chooses a listed person, who is the same user every time', async () => {
  const first = await choose({ person: '0' });
  expect(first.html).toContain('Ada &lt;b&gt;Lovelace&lt;/b&gt;');
  expect(first.user).toMatchObject({ name: 'Ada <b>Lovelace</b>', email: 'ada@example.com' });
  expect(first.user.emailVerifiedAt).toEqual(expect.any(String));
  expect((await choose({ person: '0' })).user.id).toBe(first.user.id);
});

test('a person whose address is not verified signs in without a verified address', async () => {
  expect((await choose({ person: '1' })).user.emailVerifiedAt ?? null).toBeNull();
});

test('a developer types another person, and decides whether the address is verified', async () => {
  const typed = { person: 'other', name: 'Grace', email: 'grace@example.com', verified: 'on' };
  expect((await choose(typed)).user).toMatchObject({ name: 'Grace', emailVerifiedAt: expect.any(String) });
  const unverified = { person: 'other', name: 'Eve', email: 'eve@example.com' };
  expect((await choose(unverified)).user.emailVerifiedAt ?? null).toBeNull();
});

test('a developer cancels', async () => {
  expect((await choose({ person: 'none' })).error).toBe('access_denied');
});

test('it is a real server: it publishes metadata, and refuses other callbacks and requests without PKCE', async () => {
  const authorization = await createBrowser(url).start('simulated');
  const { origin } = authorization;
  const metadata = await (await fetch(`${origin}/.well-known/openid-configuration`)).json();
  expect(metadata).toMatchObject({ issuer: origin, authorization_response_iss_parameter_supported: true });
  const keys = await (await fetch((metadata as { jwks_uri: string }).jwks_uri)).json();
  expect(JSON.stringify(keys)).not.toContain('"d"');
  const foreign = new URL(authorization);
  foreign.searchParams.set('redirect_uri', 'https://evil.example/callback');
  const refused = await fetch(foreign, { redirect: 'manual' });
  expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('invalid_redirect_uri')]);
  const without = new URL(authorization);
  for (const name of ['code_challenge', 'code_challenge_method']) without.searchParams.delete(name);
  const location = (await fetch(without, { redirect: 'manual' })).headers.get('location');
  expect(location).toContain('error=invalid_request');
  expect((await fetch(`${origin}/people/unknown`)).status).toBe(400);
});

test('the server stops with the app', async () => {
  const other = await startTestApp(
    { resources: [defineUser()], extensions: [oidc({ providers: { simulated: simulatedProvider() } })] },
    { env: () => ({ APP_URL }) },
  );
  const { origin } = await createBrowser(other.url).start('simulated');
  expect((await fetch(`${origin}/jwks`)).status).toBe(200);
  await other.app.close();
  await expect(fetch(`${origin}/jwks`)).rejects.toThrow('fetch failed');
});
