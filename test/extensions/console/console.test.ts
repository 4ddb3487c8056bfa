import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { adminConsole, createApp, defineUser } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { otherAddress } from '../../support/other-address.ts';

const resources = [defineUser()];
const { app, url, call, person } = await startTestApp(
  { resources, extensions: [adminConsole()] },
  { env: () => ({ APP_URL: 'https://dev.example.com', CORS_ORIGINS: '*' }) },
);
const PAGE = '/console/push';
const API = '/console/api/push';

/** Starts another app, which runs until the end of the test. */
async function startOther(env: Record<string, string>) {
  const database = await createTestDatabase();
  const own = { DATABASE_URL: database.databaseUrl, REDIS_URL: database.redisUrl, REDIS_PREFIX: database.redisPrefix };
  const other = createApp({ resources, extensions: [adminConsole()] }, { ...own, ...env });
  onTestFinished(async () => {
    await other.close();
    await database.drop();
  });
  await other.migrate({ mode: 'sync' });
  return { other, at: (await other.start({ port: 0 })).url };
}

/** The script that starts the console. */
const [, script = ''] = /<script type="module" src="([^"]+)"/.exec(await (await fetch(url + PAGE)).text())!;

/** Returns the head of a response. Uses `http`, since `fetch` would not send these headers. */
async function head(path: string, headers: Record<string, string>, method = 'GET') {
  const sent = request(url + path, { method, headers });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.destroy();
  return { status: response.statusCode, headers: response.headers };
}

test('the page and all scripts and styles of its tabs are served, and its policy allows nothing inline and no other origin', async () => {
  const page = await fetch(url + PAGE);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const policy = page.headers.get('content-security-policy')!;
  expect(policy).toMatch(/default-src 'none'; script-src 'self' 'sha256-[^']+'; style-src 'self'/);
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toContain("require-trusted-types-for 'script'");
  expect(policy).not.toContain('unsafe');
  const html = await page.text();
  expect(html.replace(/<script type="importmap">[^<]*<\/script>/, '')).not.toMatch(
    /<script(?![^>]*\bsrc=)|<style|\son\w+=|style=/,
  );
  const { tabs } = (await call('GET', '/console/api/app')).body.data;
  expect(tabs.map(({ id }: { id: string }) => id)).toEqual([
    'overview',
    'data',
    'accounts',
    'push',
    'mails',
    'jobs',
    'operations',
    'reference',
  ]);
  const paths: string[] = tabs.flatMap((tab: { page?: { scripts: string[]; styles: string[] } }) => [
    ...(tab.page?.scripts ?? []),
    ...(tab.page?.styles ?? []),
  ]);
  const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
  const files = [...loaded, ...paths].filter((path) => !path.startsWith('data:'));
  for (const path of files) {
    const { status, headers } = await fetch(new URL(path, url));
    // The names change with the content, so a second view asks for nothing but the page.
    const caching = path.endsWith('/reload.js') ? 'public, max-age=86400' : 'public, max-age=31536000, immutable';
    expect([status, headers.get('cache-control')], path).toEqual([200, caching]);
  }
  expect(loaded.length).toBeLessThan(12);
  // The page of a tab is loaded when the tab is opened.
  const entries = tabs.flatMap((tab: { page?: { entry: string; styles: string[] } }) => [
    tab.page?.entry,
    ...(tab.page?.styles ?? []),
  ]);
  expect(loaded.filter((path) => entries.includes(path))).toEqual([]);
});

test.each<[string, Record<string, string>, number]>([
  ['its own page', { 'sec-fetch-site': 'same-origin' }, 200],
  ['the address bar', { 'sec-fetch-site': 'none' }, 200],
  [
    'a link on another site',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    200,
  ],
  ['a name of this machine', { host: 'app.localhost:5001' }, 200],
  ['a loopback address', { host: '[::1]:5001' }, 200],
  ['another loopback address', { host: '127.0.0.2:5001' }, 200],
  ['a private address', { host: '192.168.1.5:5001' }, 403],
  ['a public address', { host: '203.0.113.5' }, 403],
  ['the host of APP_URL', { host: 'dev.example.com' }, 200],
  ['a script of another site', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 403],
  ['a script of another port', { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors' }, 403],
  [
    'a frame on another site',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    403,
  ],
  ['another origin', { origin: 'https://evil.example.com' }, 403],
  ['the origin null', { origin: 'null' }, 403],
  ['a foreign name that resolves to this machine', { host: 'evil.example.com' }, 403],
  ['a foreign name that starts like an allowed one', { host: 'localhost.evil.example.com' }, 403],
])('a request from %s gets its expected status', async (_who, headers, status) => {
  for (const path of [PAGE, `${API}/sends`, script, '/console/mails', '/console/api/mails/captured']) {
    expect((await head(path, headers)).status, path).toBe(status);
  }
});

test.runIf(otherAddress)(
  'a connection from another machine is refused with the reason, whatever its headers say',
  async () => {
    const { port } = new URL(url);
    for (const headers of [{}, { host: 'localhost' }, { host: 'dev.example.com', 'x-forwarded-for': '127.0.0.1' }]) {
      const sent = request({ host: otherAddress, port, path: PAGE, headers });
      sent.end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      expect(response.statusCode).toBe(403);
      const { error } = (await json(response)) as { error: { code: string; message: string } };
      expect(error).toMatchObject({ code: 'FORBIDDEN', message: expect.stringContaining('came from another') });
    }
  },
);

test('a proxy on this machine that forwards for another client is refused, with and without TRUST_PROXY', async () => {
  const { at } = await startOther({ NODE_ENV: 'development', TRUST_PROXY: 'true', LOG_LEVEL: 'silent' });
  const request = (base: string, forwarded: string) =>
    fetch(base + PAGE, { headers: { 'x-forwarded-for': forwarded } }).then(({ status }) => status);
  for (const base of [at, url]) {
    expect(await request(base, '127.0.0.1')).toBe(200);
    expect(await request(base, '::1, ::ffff:127.0.0.1')).toBe(200);
    expect(await request(base, '203.0.113.7')).toBe(403);
    expect(await request(base, '127.0.0.1, 203.0.113.7')).toBe(403);
    expect(await request(base, 'unknown')).toBe(403);
  }
});

test.each([
  ['Forwarded', 'for=203.0.113.7'],
  ['Via', '1.1 proxy'],
  ['X-Real-IP', '203.0.113.7'],
  ['CF-Connecting-IP', '203.0.113.7'],
  ['True-Client-IP', '203.0.113.7'],
  ['X-Forwarded-Host', 'dev.example.com'],
  ['X-Forwarded-Proto', 'https'],
  ['X-Forwarded-Server', 'proxy'],
  ['X-Original-Host', 'dev.example.com'],
  ['X-Original-Forwarded-For', '127.0.0.1'],
  ['X-Cluster-Client-IP', '203.0.113.7'],
  ['Fastly-Client-IP', '203.0.113.7'],
  ['Fly-Region', 'fra'],
  ['CF-Ray', '1'],
  ['X-Envoy-External-Address', '203.0.113.7'],
  ['X-Amzn-Trace-Id', 'Root=1'],
  ['X-Appengine-Country', 'DE'],
  ['X-Azure-ClientIP', '203.0.113.7'],
  ['Tailscale-User-Login', 'a@example.com'],
  ['Acme-Connecting-IP', '203.0.113.7'],
])('a proxy on this machine that sends %s is refused, whatever else it sends', async (name, value) => {
  for (const headers of [{ [name]: value }, { [name]: value, 'x-forwarded-for': '127.0.0.1' }, { [name]: '127.0.0.1' }])
    for (const path of [PAGE, `${API}/sends`, script, '/console/api/app'])
      expect((await head(path, headers)).status, path).toBe(403);
});

test('/console redirects to the overview', async () => {
  const { status, headers } = await fetch(`${url}/console`, { redirect: 'manual' });
  expect([status, headers.get('location')]).toEqual([302, '/console/overview']);
});

test('another origin can change nothing, even if CORS allows it for the API', async () => {
  const ann = await person('Ann');
  const evil = { origin: 'https://evil.example.com' };
  const { status } = await call('POST', `${API}/simulator/devices`, { user: ann.id }, evil);
  expect(status).toBe(403);
  expect(await app.simulated!.list()).toEqual([]);
});

test('the console needs accounts', () => {
  const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://u@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };
  expect(() => createApp({ resources: [], extensions: [adminConsole()] }, env)).toThrow(
    /declare a user resource with defineUser/,
  );
});

test('the console does not exist in production', { timeout: 240_000 }, async () => {
  const production = {
    NODE_ENV: 'production',
    DRAIN_DELAY_MS: '0',
    APP_URL: 'https://api.example.com',
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
    LOG_LEVEL: 'silent',
  };
  const { at } = await startOther(production);
  for (const path of [
    '/console',
    PAGE,
    script,
    `${API}/sends`,
    `${API}/simulator`,
    '/console/mails',
    '/console/api/mails/texts',
    '/console/jobs',
    '/console/api/jobs/overview',
  ]) {
    expect((await fetch(at + path)).status).toBe(404);
  }
});
