import { expect, test } from 'vitest';
import type { OidcOptions, OidcProviderOptions } from '../../../../src/index.ts';
import { createApp, defineResource, defineUser, f, oidc, simulatedProvider } from '../../../../src/index.ts';

const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://none/none', REDIS_URL: 'redis://none' };
const production = {
  ...env,
  NODE_ENV: 'production',
  APP_URL: 'https://api.example.com',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 7).toString('base64'),
};
const create = (options: object, variables: Record<string, string> = env) =>
  createApp({ resources: [defineUser()], extensions: [oidc(options as OidcOptions)] }, variables);
const provider: OidcProviderOptions = { issuer: 'https://id.example.com', clientId: 'a', clientSecret: 'b' };
const withProvider = (more: object) => ({ providers: { acme: { ...provider, ...more } } });

test.each<[string, object, string]>([
  ['no providers', {}, 'oidc.providers: is required, such as { google: google({ … }) }'],
  ['an unknown setting', { providers: {}, redirectUrl: 'https://a.example' }, 'Did you mean "redirectUrls"?'],
  ['a provider name with a slash', { providers: { 'a/b': provider } }, 'must be 1 to 32 lower-case letters'],
  ['an unknown logo', withProvider({ icon: 'acme' as 'apple' }), 'must be one of apple, discord'],
  ['an issuer without TLS', withProvider({ issuer: 'http://id.example.com' }), 'must be an https URL'],
  ['an issuer with a password', withProvider({ issuer: 'https://a:b@id.example.com' }), 'must be an https URL'],
  ['no issuer', withProvider({ issuer: undefined }), 'needs either `issuer` or `oauth2`'],
  ['an unknown option of a provider', withProvider({ clientID: 'x' }), 'clientID'],
  ['scopes without openid', withProvider({ scopes: ['email'] }), 'must include openid'],
  [
    'a parameter that the extension sets',
    withProvider({ authorizationParameters: { state: 'x' } }),
    'is set by the extension',
  ],
  ['a relative redirect URL', { providers: {}, redirectUrls: ['/callback'] }, 'must be a complete http or https URL'],
  ['a redirect URL that runs code', { providers: {}, redirectUrls: ['javascript:alert(1)'] }, 'must be a complete'],
  ['a redirect URL with a fragment', { providers: {}, redirectUrls: ['https://a.example/#x'] }, 'must be a complete'],
  [
    'a redirect URL that is not in a list',
    { providers: {}, redirectUrls: 'https://a.example' },
    'must be an array of URLs',
  ],
  ['an empty list of redirect URLs', { providers: {}, redirectUrls: [] }, 'oidc.redirectUrls'],
])('%s is a configuration error', (_, options, message) => {
  expect(() => create(options)).toThrow(message);
});

test('a simulated provider is refused in production, and allowed elsewhere', () => {
  const options = { providers: { simulated: simulatedProvider() } };
  expect(() => create(options, production)).toThrow(
    'oidc.providers.simulated: the simulated provider lets anyone sign in as any user',
  );
  expect(() => create(options)).not.toThrow();
  expect(() => create(withProvider({}), production)).not.toThrow();
});

test('an app without accounts cannot sign users in with providers', () => {
  const note = defineResource('note', { fields: { text: f.string() } });
  expect(() => createApp({ resources: [note], extensions: [oidc({ providers: {} })] }, env)).toThrow(
    'it needs accounts',
  );
});
