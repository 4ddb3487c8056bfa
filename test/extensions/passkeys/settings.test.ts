import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createApp, defineUser, passkeys } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';

const services = { DATABASE_URL: 'postgres://u@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };
const production = {
  ...services,
  NODE_ENV: 'production',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 7).toString('base64'),
};

/** Returns the configuration error of an app with these settings; empty if it can be created. */
function startupError(options: object, env: Record<string, string> = {}, resources = [defineUser()]): string {
  try {
    createApp({ resources, extensions: [passkeys(options)] }, { NODE_ENV: 'test', ...services, ...env }).close();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

test('invalid settings, unknown settings and missing accounts are reported at start', () => {
  const message = startupError({
    rpId: 'https://example.com',
    rpName: ' ',
    origins: ['https://example.com/'],
    maxPasskeysPerUser: 0,
    challengeTtl: '0s',
    secondFactor: 'yes',
    nope: 1,
  });
  for (const name of ['rpId', 'rpName', 'origins.0', 'maxPasskeysPerUser', 'challengeTtl', 'secondFactor', 'nope'])
    expect(message).toContain(`passkeys.${name}`);
  expect(startupError({}, {}, [])).toContain('it needs accounts');
});

const HASH = 'a'.repeat(43);
const fitting: [rpId: string | undefined, origins: string[] | undefined, appUrl: string | undefined][] = [
  [undefined, undefined, undefined],
  [undefined, undefined, 'https://api.example.com'],
  [undefined, undefined, 'https://api.example.com:8443/base'],
  [undefined, undefined, 'http://localhost:3000'],
  ['example.com', undefined, 'https://api.example.com'],
  ['example.com', ['https://example.com', 'https://app.example.com:444'], 'https://api.example.com'],
  ['example.com', ['https://example.com', `android:apk-key-hash:${HASH}`], undefined],
  ['localhost', ['http://localhost:5173', 'http://app.localhost:5173'], undefined],
];

test.each(fitting)('the domain %s with the origins %j and APP_URL %s is accepted', (rpId, origins, appUrl) => {
  expect(startupError({ rpId, origins }, appUrl === undefined ? {} : { APP_URL: appUrl })).toBe('');
});

const unfitting: [...(typeof fitting)[number], message: string][] = [
  ['example.com', ['https://example.org'], undefined, 'does not belong to the domain example.com'],
  ['example.com', ['https://badexample.com'], undefined, 'does not belong to the domain example.com'],
  ['app.example.com', ['https://example.com'], undefined, 'does not belong to the domain app.example.com'],
  ['example.com', ['http://app.example.com'], undefined, 'only with https'],
  ['example.com', undefined, undefined, 'does not belong to the domain example.com'],
  [undefined, ['https://app.example.com'], undefined, 'does not belong to the domain localhost'],
  [undefined, undefined, 'https://192.0.2.7', 'passkeys need a domain, and the host of APP_URL is 192.0.2.7'],
  [undefined, undefined, 'http://api.example.com', 'only with https'],
  ['192.0.2.7', undefined, undefined, 'passkeys.rpId: must be a domain'],
  ['Example.com', undefined, undefined, 'passkeys.rpId: must be a domain'],
  ['example.com', ['android:apk-key-hash:short'], undefined, 'must be an origin'],
  ['example.com', ['app.example.com'], undefined, 'must be an origin'],
  ['example.com', ['https://app.example.com/path'], undefined, 'must be an origin'],
  ['example.com', ['javascript://example.com'], undefined, 'must be an origin'],
  ['example.com', [], undefined, 'passkeys.origins'],
];

test.each(unfitting)(
  'the domain %s with the origins %j and APP_URL %s is a configuration error',
  (rpId, origins, appUrl, message) => {
    expect(startupError({ rpId, origins }, appUrl === undefined ? {} : { APP_URL: appUrl })).toContain(message);
  },
);

test('production requires APP_URL, whatever the settings', () => {
  expect(startupError({}, production)).toContain('APP_URL is missing');
  expect(startupError({}, { ...production, APP_URL: 'https://api.example.com' })).toBe('');
});

test('only origins on the domain and its subdomains are accepted', () => {
  const label = fc.stringMatching(/^[a-z][a-z0-9]{0,9}$/);
  const prefix = fc.array(label, { maxLength: 2 }).map((labels) => labels.map((one) => `${one}.`).join(''));
  fc.assert(
    fc.property(label, label, prefix, fc.boolean(), (name, other, sub, fits) => {
      const rpId = `${name}.example`;
      const host = fits ? sub + rpId : `${sub}${other}${rpId}`;
      expect(startupError({ rpId, origins: [`https://${host}`] }) === '').toBe(fits);
    }),
    { numRuns: scaleRuns(30) },
  );
});

test('the domain and the name come from APP_URL, and the name can be set', async () => {
  const env = () => ({ APP_URL: 'https://api.example.com:8443' });
  const byUrl = await startTestApp({ resources: [defineUser()], extensions: [passkeys()] }, { env });
  const named = await startTestApp({
    resources: [defineUser()],
    extensions: [passkeys({ rpName: 'Acme', challengeTtl: '2m' })],
    settings: { openapi: { title: 'Shop' } },
  });
  const optionsOf = async (started: typeof byUrl) => {
    const ada = await started.person('Ada');
    return (await createClient(started.url, ada.token)('POST', '/api/auth/passkeys/options')).body.data;
  };
  expect((await optionsOf(byUrl)).rp).toEqual({ id: 'api.example.com', name: 'api.example.com:8443' });
  expect(await optionsOf(named)).toMatchObject({ rp: { id: 'localhost', name: 'Acme' }, timeout: 120_000 });
});
