import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { type ApiResponse, createClient, startTestApp } from '../../support/app.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';

const handled: string[] = [];
const seen: string[] = [];
const post = defineResource('post', {
  fields: { title: f.string().required() },
  policies: { list: 'public', read: 'public', create: 'authenticated' },
  routes: (route) => [
    route.get('/short', { policy: 'public', rateLimit: { limit: 2, windowMs: 1000 } }, () => 'here'),
    route.get('/strict', { policy: 'public', rateLimit: { limit: 0.5e9, windowMs: 60_000 } }, () => 'here'),
    route.get('/handed/:over', { policy: 'public', middleware: [(_req, _res, next) => next('route')] }, () => 'never'),
    route.post(
      '/:id/ring',
      {
        policy: 'authenticated',
        rateLimit: { limit: 2, windowMs: 3_600_000 },
        middleware: [
          (req, _res, next) => {
            seen.push(req.path);
            next();
          },
        ],
      },
      ({ params }) => void handled.push(params.id!),
    ),
  ],
});
const resources = [defineUser(), post] as const;

const proxy = await startTcpProxy(new URL(process.env.TEST_REDIS_URL!));
afterAll(() => proxy.close());
const { url, app, env } = await startTestApp(
  {
    resources,
    settings: {
      rateLimit: { enabled: true, global: { limit: 25, windowMs: 3_600_000 } },
      auth: { lockout: { maxAttempts: 0 } },
    },
  },
  {
    env: () => ({ TRUST_PROXY: '1', REDIS_URL: proxy.url, CORS_ORIGINS: 'https://app.example.com' }),
  },
);

let clients = 0;
/** A client with an address that no other client uses. */
function newClient(token?: string) {
  const number = ++clients;
  const ip = `198.51.${number >> 8}.${number & 255}`;
  const call = createClient(url, token);
  return (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    call(method, path, body, { 'x-forwarded-for': ip, ...headers });
}

const limitsOf = ({ headers }: ApiResponse) =>
  ['limit', 'remaining', 'reset'].map((name) => headers.get(`ratelimit-${name}`)).map((text) => text && Number(text));

beforeEach(() => {
  handled.length = 0;
  seen.length = 0;
});

test('responses report the limit, the remaining requests and the seconds to the reset; over the limit they are 429', async () => {
  const call = newClient();
  for (let left = 24; left >= 0; left--) {
    const response = await call('GET', '/api/posts');
    expect(response.status).toBe(200);
    expect(limitsOf(response)).toEqual([25, left, expect.any(Number)]);
    expect(limitsOf(response)[2]).toBeGreaterThan(3500);
    expect(limitsOf(response)[2]).toBeLessThanOrEqual(3600);
    expect(response.headers.get('retry-after')).toBeNull();
  }
  for (let again = 0; again < 3; again++) {
    const refused = await call('GET', '/api/posts', undefined, { origin: 'https://app.example.com' });
    expect(refused.status).toBe(429);
    expect(refused.body).toEqual({
      error: {
        code: 'RATE_LIMITED',
        message: 'Too many requests; try again later',
        requestId: refused.headers.get('x-request-id'),
      },
    });
    expect(limitsOf(refused)).toEqual([25, 0, expect.any(Number)]);
    expect(refused.headers.get('retry-after')).toBe(refused.headers.get('ratelimit-reset'));
    expect(refused.headers.get('cache-control')).toBe('no-store');
    // CORS lets a page in a browser read the reason.
    expect(refused.headers.get('access-control-allow-origin')).toBe('https://app.example.com');
    expect(refused.headers.get('access-control-expose-headers')).toContain('Retry-After');
  }
  expect((await newClient()('GET', '/api/posts')).status).toBe(200);
});

test('the rest of a window is rounded up: Retry-After is never too early and never 0', async () => {
  const call = newClient();
  const responses = [];
  for (let i = 0; i < 3; i++) responses.push(await call('GET', '/api/posts/short'));
  expect(responses.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(limitsOf(responses[2]!)).toEqual([2, 0, 1]);
  expect(responses[2]!.headers.get('retry-after')).toBe('1');
  await vi.waitUntil(async () => (await call('GET', '/api/posts/short')).status === 200, {
    timeout: 60_000,
    // Few enough requests for the limit over all routes.
    interval: 100,
  });
});

test('every request counts, even one that matches no route', async () => {
  for (const [method, path, status] of [
    ['GET', '/api/posts', 200],
    ['HEAD', '/api/posts', 200],
    ['GET', '/api/nothing/here', 404],
    ['GET', '/api/posts/0123456789abcdef01234567', 404],
    ['GET', '/api/posts/%zz', 404],
    ['GET', '/api/', 404],
    ['GET', '/api', 404],
    ['GET', '/', 404],
    ['GET', '/API/posts', 404],
    ['GET', '/api/posts/', 404],
    ['GET', '/api/%70osts', 404],
    ['GET', '//api/posts', 404],
    ['GET', '/api/posts;x', 404],
    ['GET', '/api/posts?colour=red', 400],
    ['DELETE', '/api/posts', 405],
    ['OPTIONS', '/api/posts', 204],
    ['POST', '/api/posts', 401],
  ] as const) {
    const call = newClient();
    await call('GET', '/api/posts');
    const response = await call(method, path);
    expect([response.status, ...limitsOf(response)], `${method} ${path}`).toEqual([status, 25, 23, expect.any(Number)]);
  }
});

test('a client over the limit gets 429 for every path, in every spelling; preflights and health checks are exempt', async () => {
  const call = newClient('svc_no_token_at_all');
  for (let i = 0; i < 25; i++) expect((await call('GET', '/api/posts')).status).toBe(401);
  for (const path of [
    '/api/posts',
    '/API/posts',
    '/api/posts/',
    '/api/%70osts',
    '/api/posts/%zz',
    '/api/nothing',
    '/',
  ]) {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
      expect((await call(method, path, method === 'POST' ? '{broken' : undefined)).status, path).toBe(429);
    }
  }
  const preflight = { origin: 'https://app.example.com', 'access-control-request-method': 'POST' };
  expect((await call('OPTIONS', '/api/posts', undefined, preflight)).status).toBe(204);
  for (const path of ['/healthz', '/readyz']) {
    const response = await call('GET', path);
    expect([response.status, ...limitsOf(response)]).toEqual([200, null, null, null]);
  }
});

test('a route limit applies to the route, whatever its parameters, before its middleware and its handler', async () => {
  const account = { name: 'Ann', email: 'ann@example.com', password: 'correct horse battery' };
  const { token } = (await newClient()('POST', '/api/auth/register', account)).body.data;
  const [one, other] = (await Promise.all([1, 2].map((i) => app.service('post').create({ title: `${i}` })))).map(
    ({ id }) => id,
  );
  const call = newClient(token);
  expect(limitsOf(await call('POST', `/api/posts/${one}/ring`))).toEqual([2, 1, expect.any(Number)]);
  expect((await call('POST', `/api/posts/${other}/ring`)).status).toBe(204);
  for (const path of [`${one}/ring`, `${other}/ring`, `${one}/%72ing`, 'nothing/ring']) {
    const { status } = await call('POST', `/api/posts/${path}`);
    expect(path.endsWith('/ring') ? 429 : 404, path).toBe(status);
  }
  expect(handled).toEqual([one, other]);
  expect(seen).toHaveLength(2);
  expect((await call('GET', `/api/posts/${one}`)).status).toBe(200);
  expect((await newClient(token)('POST', `/api/posts/${one}/ring`)).status).toBe(204);
});

test('a request that its route passes on to the next route counts once', async () => {
  const call = newClient();
  const handed = await call('GET', '/api/posts/handed/over');
  expect([handed.status, ...limitsOf(handed).slice(0, 2)]).toEqual([405, 25, 24]);
  expect(limitsOf(await call('GET', '/api/posts'))[1]).toBe(23);
});

test('if two limits apply, the response reports the one with fewer remaining requests', async () => {
  const call = newClient();
  expect(limitsOf(await call('GET', '/api/posts/short')).slice(0, 2)).toEqual([2, 1]);
  expect(limitsOf(await call('GET', '/api/posts/strict')).slice(0, 2)).toEqual([25, 23]);
});

test('login and register allow 10 requests each in 15 minutes, and later requests check no password', async () => {
  const failed: unknown[] = [];
  app.on('security.login_failed', (payload) => failed.push(payload));
  const call = newClient();
  const account = { name: 'Bob', email: 'bob@example.com', password: 'correct horse battery' };
  const { headers } = await newClient()('POST', '/api/auth/register', account);
  expect([headers.get('ratelimit-limit'), headers.get('ratelimit-remaining')]).toEqual(['10', '9']);
  expect(Number(headers.get('ratelimit-reset'))).toBeGreaterThan(890);

  const login = (password: string) => call('POST', '/api/auth/login', { email: account.email, password });
  const wrong = await Promise.all(Array.from({ length: 14 }, () => login('wrong horse battery')));
  expect(wrong.map(({ status }) => status).sort()).toEqual([...Array(10).fill(401), ...Array(4).fill(429)]);
  const right = await login(account.password);
  expect([right.status, right.body.error.code]).toEqual([429, 'RATE_LIMITED']);
  expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(890);
  expect(failed).toHaveLength(10);

  // The other endpoint, and the other client, have separate limits.
  expect((await call('POST', '/api/auth/register', account)).status).toBe(409);
  const { email, password } = account;
  expect((await newClient()('POST', '/api/auth/login', { email, password })).status).toBe(200);
});

test('sessions and events store the address that limits use, in its canonical spelling', async () => {
  const logins: { ip: string }[] = [];
  app.on<{ ip: string }>('auth.login', (payload) => logins.push(payload));
  const email = 'eve@example.com';
  const password = 'correct horse battery';
  await newClient()('POST', '/api/auth/register', { name: 'Eve', email, password });
  const forwardedAddresses = ['[2001:0DB8:0:0::7]:4711', '::ffff:203.0.113.7', 'unknown'];
  for (const forwarded of forwardedAddresses) {
    const headers = { 'x-forwarded-for': `198.51.100.1, ${forwarded}` };
    expect((await createClient(url)('POST', '/api/auth/login', { email, password }, headers)).status).toBe(200);
  }
  const addresses = ['2001:db8::7', '203.0.113.7', '127.0.0.1'];
  expect(logins.map(({ ip }) => ip)).toEqual(addresses);
  const client = new Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  const { rows } = await client.query<{ ip: string }>('select ip from sessions order by id desc limit 3');
  await client.end();
  expect(rows.map(({ ip }) => ip).toReversed()).toEqual(addresses);
});

test('a request costs one write to Redis, even with two limits; a request known to be over the limit costs none', async () => {
  const call = newClient();
  await call('GET', '/api/posts/short');
  proxy.sent.length = 0;
  await call('GET', '/api/posts/short');
  expect(proxy.sent.map((bytes) => bytes.toString().match(/:limit:/g)?.length)).toEqual([2]);
  for (let i = 0; i < 24; i++) await call('GET', '/api/posts');
  proxy.sent.length = 0;
  for (let i = 0; i < 20; i++) expect((await call('GET', '/api/posts/strict')).status).toBe(429);
  expect(proxy.sent).toEqual([]);
});

test('every key in Redis has the prefix and expires', async () => {
  await newClient()('POST', '/api/auth/login');
  const redis = new Redis(process.env.TEST_REDIS_URL!);
  const keys = await redis.keys(`${env.REDIS_PREFIX}:limit:*`);
  expect(keys.length).toBeGreaterThan(10);
  expect(keys.some((key) => /:limit:\{\d+\}:POST \/auth\/login:900000:198\.51\./.test(key))).toBe(true);
  for (const key of keys) expect([-2, 0]).toContain(Math.min(await redis.pttl(key), 0));
  redis.disconnect();
});

test.each([
  ['an address', '203.0.113.1'],
  ['an address with a port', '203.0.113.2:4711'],
  ['an IPv6 address', '2001:db8:0:1::7'],
  ['an IPv6 address with a port', '[2001:db8:0:2::7]:4711'],
  ['an address after that of another proxy', '10.0.0.1, 203.0.113.3'],
  ['an address after a forged one', '198.51.100.99, 203.0.113.4'],
  ['an address after a thousand others', `${'198.51.100.98, '.repeat(1000)}203.0.113.5`],
  ['an address after invalid text', '<script>, %00, , 203.0.113.6'],
])('behind one trusted proxy, %s is the client that the proxy saw', async (_what, forwarded) => {
  const last = forwarded.split(', ').at(-1)!;
  const call = createClient(url);
  const left = async (text: string) =>
    limitsOf(await call('GET', '/api/posts', undefined, { 'x-forwarded-for': text }))[1];
  expect(await left(forwarded)).toBe(24);
  expect(await left(last)).toBe(23);
  expect(await left(`198.51.100.97, ${last}`)).toBe(22);
});

test.each([
  ['spellings of one IPv6 address', ['2001:db8:1::1', '2001:0DB8:1:0:0:0:0:1', '2001:db8:0001::0.0.0.1']],
  ['addresses of one /64', ['2001:db8:2::1', '2001:db8:2::ffff:1', '2001:db8:2:0:8000::']],
  ['an IPv4 address and the same in IPv6', ['203.0.113.77', '::ffff:203.0.113.77', '::FFFF:cb00:714d']],
])('%s count as one client', async (_what, addresses) => {
  const left = [];
  for (const ip of addresses) {
    left.push(limitsOf(await createClient(url)('GET', '/api/posts', undefined, { 'x-forwarded-for': ip }))[1]);
  }
  expect(left).toEqual([24, 23, 22]);
});

test.each(['', ',', ', ,', 'unknown', '_hidden', 'a'.repeat(50_000), '1.2.3.4.5', ':::', '127.1', '"[::1"'])(
  'a proxy that sends no valid address is itself the client, and no request fails (%#)',
  async (forwarded) => {
    const { status, headers } = await createClient(url)('GET', '/healthz', undefined, { 'x-forwarded-for': forwarded });
    expect([status, headers.get('ratelimit-limit')]).toEqual([200, null]);
    const response = await createClient(url)('GET', '/api/posts', undefined, { 'x-forwarded-for': forwarded });
    expect([200, 429]).toContain(response.status);
    expect(limitsOf(response)[0]).toBe(25);
  },
);

test('a client that disconnects before its limit is checked causes no error', async () => {
  for (let i = 0; i < 5; i++) {
    await new Promise<void>((resolve) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
        socket.end('GET /api/posts HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.200\r\n\r\n');
        socket.destroy();
      });
      socket.once('close', () => resolve());
    });
  }
  expect((await newClient()('GET', '/api/posts')).status).toBe(200);
});

test.each(['shut', 'hang'] as const)(
  'while Redis is down (%s), requests are served and still counted; once it is back, all processes count together again',
  async (how) => {
    expect(limitsOf(await newClient()('GET', '/api/posts'))[1]).toBe(24);
    proxy[how]();
    try {
      const call = newClient();
      const responses = [];
      for (let i = 0; i < 30; i++) responses.push(await call('GET', '/api/posts'));
      expect(responses.map(({ status }) => status)).toEqual([...Array(25).fill(200), ...Array(5).fill(429)]);
      expect(limitsOf(responses[0]!)[1]).toBe(24);
    } finally {
      proxy.reopen();
    }
    const redis = new Redis(process.env.TEST_REDIS_URL!);
    const counted = async () => (await redis.keys(`${env.REDIS_PREFIX}:limit:*:all:*`)).length;
    const before = await counted();
    await vi.waitUntil(
      async () => {
        await newClient()('GET', '/api/posts');
        return (await counted()) > before + 1;
      },
      { timeout: 60_000, interval: 50 },
    );
    redis.disconnect();
  },
);
