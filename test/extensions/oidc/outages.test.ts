import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { defineUser, oidc } from '../../../src/index.ts';
import { startFakeProvider } from '../../fakes/oidc-provider.ts';
import { startTestApp } from '../../support/app.ts';
import { APP_URL, createBrowser, newVerifier, signInWith } from './oidc-browser.ts';

const fake = await startFakeProvider();
const slow = await startFakeProvider();
const options = (issuer: string) => ({
  name: 'Acme',
  issuer,
  clientId: fake.clientId,
  clientSecret: fake.clientSecret,
});
fake.setDown(true);
// The app starts although no provider answers.
const { call, url } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [
      oidc({
        providers: {
          acme: options(fake.issuer),
          slow: options(slow.issuer),
          nowhere: options('http://127.0.0.1:9'),
        },
      }),
    ],
  },
  { env: () => ({ APP_URL }) },
);
const claims = { sub: '1', email: 'ada@example.com', email_verified: true };
const start = (provider: string) => call('GET', `/api/auth/oidc/${provider}/start?codeChallenge=${'a'.repeat(43)}`);
const ERROR = { code: 'UNAVAILABLE', message: 'Acme is not available at the moment; try again later' };
afterEach(() => {
  vi.useRealTimers();
  fake.behave({ claims });
});

test('a provider that does not answer gives a 503, and works once it is back', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  for (const provider of ['acme', 'nowhere']) {
    const { status, headers, body } = await start(provider);
    expect([status, headers.get('retry-after'), body.error]).toEqual([503, '5', expect.objectContaining(ERROR)]);
  }
  const asked = fake.requests.length;
  await Promise.all(Array.from({ length: 5 }, () => start('acme')));
  expect(fake.requests).toHaveLength(asked);
  fake.setDown(false);
  fake.behave({ claims });
  vi.setSystemTime(Date.now() + 6000);
  expect((await signInWith(url, call, 'acme')).status).toBe(200);
});

test('metadata and keys are read once, not for every sign-in', async () => {
  for (let i = 0; i < 3; i++) expect((await signInWith(url, call, 'acme')).status).toBe(200);
  for (const path of ['GET /.well-known/openid-configuration', 'GET /jwks'])
    expect(fake.requests.slice(1).filter((each) => each === path)).toHaveLength(1);
});

test('metadata that are an hour old are read again, and stay in use if that fails', async () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  const reads = () => fake.requests.filter((each) => each.includes('openid-configuration')).length;
  const before = reads();
  vi.setSystemTime(Date.now() + 3_700_000);
  fake.behave({
    claims,
    intercept(path, _req, res) {
      if (!path.includes('openid-configuration')) return false;
      res.writeHead(500).end();
      return true;
    },
  });
  expect((await start('acme')).status).toBe(303);
  expect(reads()).toBe(before + 1);
  fake.behave({ claims });
  vi.setSystemTime(Date.now() + 6000);
  expect((await start('acme')).status).toBe(303);
  expect(reads()).toBe(before + 2);
});

test.each(['POST /token', 'GET /userinfo'])(
  'an outage of %s returns the user to the page with an error',
  async (path) => {
    const browser = createBrowser(url);
    fake.behave({
      claims: { sub: '1' },
      intercept(asked, req) {
        if (asked !== path) return false;
        req.socket.destroy();
        return true;
      },
    });
    const page = await browser.signIn('acme', newVerifier());
    expect(page.searchParams.get('error')).toBe('provider_unavailable');
  },
);

test.each<[string, (write: (text: string) => boolean) => void]>([
  ['is too large', (write) => void write(JSON.stringify({ issuer: 'x'.repeat(2_000_000) }))],
  ['is no JSON', (write) => void write('<html>')],
])('a response that %s is not accepted', async (_, answer) => {
  slow.behave({
    intercept(path, _req, res) {
      if (!path.includes('openid-configuration')) return false;
      res.writeHead(200, { 'content-type': 'application/json' });
      answer((text) => res.write(text));
      res.end();
      return true;
    },
  });
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(Date.now() + 3_700_000);
  expect((await start('slow')).status).toBe(503);
});

test('a redirect of a provider is not followed', async () => {
  slow.behave({
    intercept(path, _req, res) {
      if (!path.includes('openid-configuration')) return false;
      res.writeHead(302, { location: `${fake.issuer}/.well-known/openid-configuration` }).end();
      return true;
    },
  });
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(Date.now() + 7_400_000);
  const before = fake.requests.length;
  expect((await start('slow')).status).toBe(503);
  expect(fake.requests).toHaveLength(before);
});

test('a provider that accepts the request and never answers is given up after the time limit', async () => {
  const limits: number[] = [];
  const controller = new AbortController();
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    limits.push(ms);
    return controller.signal;
  });
  onTestFinished(() => timeout.mockRestore());
  slow.behave({
    intercept() {
      // As if the time had passed, once the request has arrived.
      controller.abort(new DOMException('The operation timed out', 'TimeoutError'));
      return true;
    },
  });
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(Date.now() + 11_100_000);
  expect((await start('slow')).status).toBe(503);
  expect(limits).toContain(10_000);
});
