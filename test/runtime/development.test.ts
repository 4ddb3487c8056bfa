import { expect, onTestFinished, test } from 'vitest';
import { adminConsole, createApp, defineExtension, defineResource, defineUser, f } from '../../src/index.ts';
import type { AppOptions } from '../../src/runtime/create-app.ts';
import { createClient, startTestApp } from '../support/app.ts';
import { otherAddress } from '../support/other-address.ts';

const note = defineResource('note', {
  fields: { text: f.string() },
  policies: { list: 'public' },
  routes: (route) => [
    route.get('/auth', { policy: 'public', rateLimit: 'auth' }, () => 'here'),
    route.get('/own', { policy: 'public', rateLimit: { limit: 1, windowMs: 3_600_000 } }, () => 'here'),
  ],
});
const resources = [defineUser(), note] as const;
const base = await startTestApp({ resources });
const production = {
  NODE_ENV: 'production',
  DRAIN_DELAY_MS: '0',
  APP_URL: 'https://api.example.com',
  SVC_ENCRYPTION_KEYS: Buffer.from('belfry-development-key-not-secret').subarray(0, 32).toString('base64'),
};

/** Starts an app with its own limits on the same database. It is closed when the test ends. */
async function start(env: Record<string, string>, options: Partial<AppOptions<typeof resources>> = {}) {
  const REDIS_PREFIX = `${base.env.REDIS_PREFIX}-${Math.random().toString(36).slice(2)}`;
  const app = createApp(
    { resources, ...options },
    { ...base.env, REDIS_PREFIX, LOG_LEVEL: 'silent', NODE_ENV: 'development', ...env },
  );
  onTestFinished(() => app.close());
  const { url } = await app.start({ port: 0, roles: ['web'] });
  return { url, call: createClient(url) };
}

const html = { accept: 'text/html' };

test('the development home page links to the reference and the console, and loads no scripts and nothing from other hosts', async () => {
  const { url } = await start({}, { extensions: [adminConsole()] });
  const response = await fetch(url, { headers: html });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const policy = response.headers.get('content-security-policy')!;
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/unsafe|https?:/);
  const text = await response.text();
  expect([...text.matchAll(/<a href="([^"]+)"/g)].map((match) => match[1])).toEqual([
    '/api/docs',
    '/console',
    '/api/openapi.json',
  ]);
  expect(text).not.toMatch(/<script|https?:\/\//);
  for (const [, path] of text.matchAll(/<a href="([^"]+)"/g)) expect((await fetch(url + path)).status).toBe(200);
});

test('the home page links only to pages that the app has, and does not replace a page that the app serves at /', async () => {
  const without = await start({}, { settings: { openapi: { enabled: false } } });
  expect(await (await fetch(without.url)).text()).not.toContain('<a ');
  const home = { method: 'GET', path: '/', policy: 'public', handler: () => 'own' } as const;
  const own = await start({}, { extensions: [defineExtension({ name: 'home', setup: () => ({ pages: [home] }) })] });
  expect((await own.call('GET', '/')).body).toEqual({ data: 'own' });
});

test('at /, a client that does not accept HTML gets the 404 of the API, and so does every client in production and in tests', async () => {
  const [development, live] = [await start({}), await start(production)];
  for (const [call, headers] of [
    [development.call, { accept: 'application/json' }],
    [live.call, html],
    [base.call, html],
  ] as const) {
    const { status, body } = await call('GET', '/', undefined, headers);
    expect([status, body.error.code]).toEqual([404, 'NOT_FOUND']);
  }
});

const ORIGINS: [string, boolean][] = [
  ['http://localhost:3000', true],
  ['http://localhost', true],
  ['https://localhost:8443', true],
  ['http://127.0.0.1:5173', true],
  ['http://[::1]:5173', true],
  ['http://localhost.evil.example.com', false],
  ['http://evil-localhost:3000', false],
  ['http://192.168.1.5:3000', false],
  ['null', false],
];

test('in development, pages on this machine may call the API, as may the origins in CORS_ORIGINS; in production they may not', async () => {
  const startAndAsk = async (env: Record<string, string>) => {
    const { call } = await start(env);
    return async (origin: string) => {
      const { headers } = await call('GET', '/api/notes', undefined, { origin });
      const preflight = { origin, 'access-control-request-method': 'PATCH' };
      const response = await call('OPTIONS', '/api/notes', undefined, preflight);
      expect(response.headers.get('access-control-allow-origin')).toBe(headers.get('access-control-allow-origin'));
      expect(headers.get('vary')?.includes('Origin') ?? false).toBe(env.NODE_ENV !== 'production');
      return headers.get('access-control-allow-origin');
    };
  };
  const inDevelopment = await startAndAsk({});
  const inProduction = await startAndAsk(production);
  for (const [origin, isAllowed] of ORIGINS) {
    expect(await inDevelopment(origin)).toBe(isAllowed ? origin : null);
    expect(await inProduction(origin)).toBeNull();
  }
  const withList = await startAndAsk({ CORS_ORIGINS: 'https://app.example.com' });
  expect(await withList('https://app.example.com')).toBe('https://app.example.com');
  expect(await withList('http://localhost:3000')).toBe('http://localhost:3000');
});

const OFF = { LOOPBACK_RATE_LIMITS: 'off' };
const tooMany = { rateLimit: { global: { limit: 2, windowMs: 60_000 } } };

test('NODE_ENV=development alone keeps the rate limits; LOOPBACK_RATE_LIMITS=off lifts them for clients on this machine', async () => {
  const statuses = async (env: Record<string, string>) => {
    const { call } = await start(env, { settings: tooMany });
    const responses = [];
    for (const path of ['/api/notes/own', '/api/notes/own', '/api/notes', '/api/notes', '/api/nothing'])
      responses.push(await call('GET', path));
    return responses.map(({ status }) => status);
  };
  expect(await statuses({})).toEqual([200, 429, 429, 429, 429]);
  expect(await statuses(OFF)).toEqual([200, 200, 200, 200, 404]);
});

test('LOOPBACK_RATE_LIMITS=off does not lift the limits of a client behind a proxy, with or without TRUST_PROXY', async () => {
  for (const env of [OFF, { ...OFF, TRUST_PROXY: 'true' }]) {
    const { call } = await start(env, { settings: tooMany });
    const forwarded = { 'x-forwarded-for': '203.0.113.7' };
    const responses = [];
    for (let i = 0; i < 3; i++) responses.push(await call('GET', '/api/notes', undefined, forwarded));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(responses[2]!.body.error.message).not.toContain('LOOPBACK_RATE_LIMITS');
  }
});

test.runIf(otherAddress)(
  'LOOPBACK_RATE_LIMITS=off does not lift the limits of another machine, whatever headers it forges',
  async () => {
    const { url } = await start(OFF, { settings: tooMany });
    const call = createClient(`http://${otherAddress}:${new URL(url).port}`);
    const statuses = [];
    for (let i = 0; i < 3; i++)
      statuses.push((await call('GET', '/api/notes', undefined, { 'x-forwarded-for': '127.0.0.1' })).status);
    expect(statuses).toEqual([200, 200, 429]);
  },
);

test('a 429 in development names the limit, the wait and the setting; in production its text is unchanged', async () => {
  const message = async (env: Record<string, string>, path: string, times: number, settings = {}) => {
    const { call } = await start(env, { settings });
    for (let i = 1; i < times; i++) await call('GET', path);
    const { status, headers, body } = await call('GET', path);
    expect([status, body.error.code]).toEqual([429, 'RATE_LIMITED']);
    return { text: body.error.message as string, wait: headers.get('retry-after') };
  };
  const lift = ', or set LOOPBACK_RATE_LIMITS=off to lift the limits for clients on this machine.';
  const auth = await message({}, '/api/notes/auth', 11);
  expect(auth.text).toBe(
    `Too many requests: a client may send 10 in 15 minutes to GET /api/notes/auth (settings.rateLimit.auth). Try again in ${auth.wait} seconds${lift}`,
  );
  const own = await message({}, '/api/notes/own', 2);
  expect(own.text).toContain('1 in 1 hour to GET /api/notes/own (rateLimit of the route)');
  const all = await message({}, '/api/nothing', 3, tooMany);
  expect(all.text).toContain('2 in 1 minute to all routes together (settings.rateLimit.global)');
  expect((await message(production, '/api/notes/own', 2)).text).toBe('Too many requests; try again later');
});

test('HOST sets the address that the web process listens on', async () => {
  const { url } = await start({ HOST: '127.0.0.1' });
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const reaches = (host: string) =>
    fetch(`http://${host}:${new URL(url).port}/healthz`).then(
      ({ status }) => status,
      () => 'refused',
    );
  expect(await reaches('127.0.0.1')).toBe(200);
  if (otherAddress !== undefined) expect(await reaches(otherAddress)).toBe('refused');
  expect((await start({ HOST: 'localhost' })).url).toMatch(/^http:\/\/(127\.0\.0\.1|\[::1\]):\d+$/);
  await expect(start({ HOST: '203.0.113.9' })).rejects.toThrow(
    'HOST=203.0.113.9 is not an address of this machine. Use 127.0.0.1, or 0.0.0.0 for all addresses',
  );
});
