import { beforeEach, expect, test } from 'vitest';
import { type ClientOptions, createClient } from '../../../packages/client/src/index.ts';
import { defineUser, oidc } from '../../../src/index.ts';
import { APP_URL, createBrowser, PAGE } from '../../extensions/oidc/oidc-browser.ts';
import { startFakeProvider } from '../../fakes/oidc-provider.ts';
import { startTestApp } from '../../support/app.ts';

const fake = await startFakeProvider();
const { url, person } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [
      oidc({
        providers: {
          acme: { name: 'Acme', issuer: fake.issuer, clientId: fake.clientId, clientSecret: fake.clientSecret },
        },
        redirectUrls: [PAGE, `${PAGE}?from=app`],
      }),
    ],
  },
  { env: () => ({ APP_URL }) },
);
beforeEach(() => fake.behave({ claims: { sub: 'ada', email: 'ada@provider.example.com', email_verified: true } }));
const newClient = (options: ClientOptions = {}) => createClient({ url, ...options });

/** Opens a URL of the app as a browser does, goes through the provider, and returns the page of the front end. */
function goThrough(start: string): Promise<URL> {
  const browser = createBrowser(url);
  return browser
    .follow(start.replace(url, APP_URL))
    .then((provider) => browser.follow(provider))
    .then((callback) => browser.follow(callback));
}

test('a user signs in at a provider, and the code of the return works once, in the tab that started', async () => {
  const { auth } = newClient();
  expect(await auth.oidc.providers()).toEqual([{ provider: 'acme', name: 'Acme' }]);
  const returned = await goThrough(await auth.oidc.createSignInUrl('acme', { redirectUrl: `${PAGE}?from=app` }));
  expect(returned.href).toMatch(/^https:\/\/app\.example\.com\/auth\/callback\?from=app&code=[\w-]+$/);
  await expect(newClient().auth.oidc.complete({ url: returned.href })).rejects.toMatchObject({
    code: 'PROVIDER_REFUSED',
    details: { error: 'sign_in_expired' },
  });
  expect(await auth.oidc.complete({ url: returned.href })).toMatchObject({ status: 'signedIn' });
  expect(await auth.methods()).toEqual(['oidc:acme']);
  await expect(auth.oidc.complete({ url: returned.href })).rejects.toMatchObject({ code: 'PROVIDER_REFUSED' });
});

test('the refusal of a provider is an error with its reason', async () => {
  const { auth } = newClient();
  await auth.oidc.createSignInUrl('acme');
  await expect(auth.oidc.complete({ url: `${PAGE}?error=access_denied&provider=acme` })).rejects.toMatchObject({
    status: 0,
    code: 'PROVIDER_REFUSED',
    details: { error: 'access_denied' },
  });
});

test('the code of another sign-in, which an attacker has put into the address, is refused', async () => {
  const { auth } = newClient();
  await auth.oidc.createSignInUrl('acme');
  const foreign = await goThrough(await newClient().auth.oidc.createSignInUrl('acme'));
  await expect(auth.oidc.complete({ url: foreign.href })).rejects.toMatchObject({ status: 401 });
  expect(auth.session).toBeUndefined();
});

test('a signed-in user links an account at a provider, and removes it', async () => {
  const ada = await person('Ada');
  const { auth } = newClient();
  await auth.signIn({ email: ada.email, password: 'correct horse battery' });
  fake.behave({ claims: { sub: 'linked', email: 'linked@provider.example.com' } });
  const returned = await goThrough(await auth.oidc.createLinkUrl('acme'));
  expect(await auth.oidc.complete({ url: returned.href })).toEqual({ status: 'linked', provider: 'acme' });
  const [identity] = await auth.identities.list();
  expect(identity).toMatchObject({ provider: 'acme', email: 'linked@provider.example.com' });
  await auth.identities.delete(identity!.id);
  expect(await auth.methods()).toEqual(['password']);
});

test('a native app signs in with an ID token for its nonce', async () => {
  fake.behave({});
  const { auth } = newClient();
  const { nonce } = await auth.oidc.createNonce('acme');
  const idToken = await fake.mint({
    sub: 'native',
    nonce,
    email: 'native@provider.example.com',
    email_verified: true,
  });
  expect(await auth.oidc.signInWithIdToken('acme', { idToken, nonce, name: 'Nat' })).toMatchObject({
    status: 'signedIn',
    user: { name: 'Nat' },
  });
  await expect(newClient().auth.oidc.signInWithIdToken('acme', { idToken, nonce })).rejects.toMatchObject({
    status: 401,
  });
});
