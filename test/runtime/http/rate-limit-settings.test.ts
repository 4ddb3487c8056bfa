import { expect, onTestFinished, test } from 'vitest';
import { createApp, defineResource, defineUser, f } from '../../../src/index.ts';
import type { SettingsInput } from '../../../src/platform/settings/settings.ts';
import { app as blog } from '../../fixtures/blog/app.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { createRoleEnv, startBlog } from '../../support/processes/app-process.ts';

const note = defineResource('note', {
  fields: { text: f.string() },
  policies: { list: 'public' },
  routes: (route) => [
    route.get('/auth', { policy: 'public', rateLimit: 'auth' }, () => 'here'),
    route.get('/own', { policy: 'public', rateLimit: { limit: 1, windowMs: 3_600_000 } }, () => 'here'),
  ],
});
const resources = [defineUser(), note] as const;
// One key for all apps, because they share a database.
const SVC_ENCRYPTION_KEYS = Buffer.alloc(32, 1).toString('base64');
const base = await startTestApp({ resources }, { env: () => ({ SVC_ENCRYPTION_KEYS }) });

/** Sends requests to an app with these settings and its own prefix. Returns each status and the limit in the headers. */
async function ask(rateLimit: SettingsInput['rateLimit'], paths: readonly string[], env: Record<string, string> = {}) {
  const REDIS_PREFIX = `${base.env.REDIS_PREFIX}-${Math.random().toString(36).slice(2)}`;
  const app = createApp(
    { resources, settings: { rateLimit } },
    { ...base.env, REDIS_PREFIX, LOG_LEVEL: 'silent', ...env },
  );
  try {
    const call = createClient((await app.start({ port: 0, roles: ['web'] })).url);
    const responses = [];
    for (const path of paths) responses.push(await call('GET', path));
    return responses.map(({ status, headers }) => [status, headers.get('ratelimit-limit')]);
  } finally {
    await app.close();
  }
}

const TWICE = ['/api/notes', '/api/notes/auth', '/api/notes/own', '/api/notes/own', '/api/nothing'];
const free = [200, null];

test('no limit applies in test mode, or if limits are turned off', async () => {
  const none = [free, free, free, free, [404, null]];
  expect(await ask(undefined, TWICE)).toEqual(none);
  expect(await ask({ enabled: false }, TWICE, { NODE_ENV: 'development' })).toEqual(none);
});

test('in development, in production and if turned on, the limits apply: 300 and 10 by default', async () => {
  const some = [
    [200, '300'],
    [200, '10'],
    [200, '1'],
    [429, '1'],
    [404, '300'],
  ];
  expect(await ask({ enabled: true }, TWICE)).toEqual(some);
  expect(await ask(undefined, TWICE, { NODE_ENV: 'development' })).toEqual(some);
  expect(await ask({}, TWICE, { NODE_ENV: 'production', DRAIN_DELAY_MS: '0', APP_URL: 'https://x.example' })).toEqual(
    some,
  );
});

test('each limit can be set or turned off separately', async () => {
  const rule = (limit: number) => ({ limit, windowMs: 3_600_000 });
  expect(await ask({ enabled: true, global: false, auth: rule(7) }, TWICE)).toEqual([
    free,
    [200, '7'],
    [200, '1'],
    [429, '1'],
    [404, null],
  ]);
  expect(await ask({ enabled: true, global: rule(4), auth: false }, TWICE)).toEqual([
    [200, '4'],
    [200, '4'],
    [200, '1'],
    [429, '1'],
    [429, '4'],
  ]);
  expect(await ask({ enabled: true, global: false, auth: false }, TWICE.slice(0, 2))).toEqual([free, free]);
});

test('without TRUST_PROXY a forged X-Forwarded-For changes nothing', async () => {
  const app = createApp({ resources, settings: { rateLimit: { enabled: true } } }, base.env);
  try {
    const call = createClient((await app.start({ port: 0, roles: ['web'] })).url);
    const left = [];
    for (const forged of ['203.0.113.1', '203.0.113.2', '127.0.0.1', '']) {
      const { headers } = await call('GET', '/api/notes', undefined, { 'x-forwarded-for': forged });
      left.push(Number(headers.get('ratelimit-remaining')));
    }
    expect(left).toEqual([299, 298, 297, 296]);
  } finally {
    await app.close();
  }
});

test.each([
  ['2', '203.0.113.9, 203.0.113.1, 203.0.113.2', '203.0.113.8, 203.0.113.1, 203.0.113.3'],
  ['loopback,10.0.0.0/8', '203.0.113.9, 203.0.113.1, 10.1.2.3', '203.0.113.8, 203.0.113.1'],
])('with TRUST_PROXY=%s only the last untrusted hop identifies the client', async (TRUST_PROXY, one, other) => {
  const REDIS_PREFIX = `${base.env.REDIS_PREFIX}-${TRUST_PROXY.replace(/\W/g, '')}`;
  const app = createApp(
    { resources, settings: { rateLimit: { enabled: true } } },
    { ...base.env, REDIS_PREFIX, TRUST_PROXY },
  );
  try {
    const call = createClient((await app.start({ port: 0, roles: ['web'] })).url);
    const left = [];
    for (const forwarded of [one, other]) {
      const { headers } = await call('GET', '/api/notes', undefined, { 'x-forwarded-for': forwarded });
      left.push(Number(headers.get('ratelimit-remaining')));
    }
    expect(left).toEqual([299, 298]);
  } finally {
    await app.close();
  }
});

test('of 400 concurrent requests to two web processes, exactly 300 pass', { timeout: 240_000 }, async () => {
  const database = await createTestDatabase();
  const env = { ...createRoleEnv(database), TRUST_PROXY: 'loopback' };
  const other = startBlog('web', env);
  const otherUrl = await other.url();
  // This process is the second web process.
  const own = blog(env);
  onTestFinished(async () => {
    await own.close();
    await database.drop();
  });
  const { url } = await own.start({ port: 0, roles: ['web'] });
  const webs = [createClient(url), createClient(otherUrl)];
  const statuses = async (ip: string) => {
    const one = async (_: unknown, i: number) =>
      (await webs[i % 2]!('GET', '/api/posts', undefined, { 'x-forwarded-for': ip })).status;
    const all = await Promise.all(Array.from({ length: 400 }, one));
    return [200, 429].map((status) => all.filter((each) => each === status).length);
  };
  expect(await statuses('203.0.113.1')).toEqual([300, 100]);
  // Requests to one process count in both; another client is not affected.
  for (const call of webs) {
    const ask = (ip: string) => call('GET', '/api/posts', undefined, { 'x-forwarded-for': ip });
    expect((await ask('203.0.113.1')).status).toBe(429);
    expect((await ask('203.0.113.2')).status).toBe(200);
  }
  other.child.kill('SIGTERM');
  expect(await other.ended).toBe(0);
});
