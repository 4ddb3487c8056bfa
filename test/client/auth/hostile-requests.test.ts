import { createServer } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import { type CookieSessionOptions, cookieSession } from '../../../packages/client/src/index.ts';
import { ORIGIN, OWN_PAGE, startCookieApp } from './cookie-browser.ts';

const { url, createBrowser, sendTo, signedIn } = await startCookieApp();

test('pages of other origins, of other hosts of the domain, and requests without an origin are refused', async () => {
  const { browser, sessionId } = await signedIn('Ada');
  const authorization = `Bearer ${sessionId}`;
  const post = (headers: Record<string, string>) =>
    sendTo(browser, '/api/notes', {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json', authorization, ...headers },
    });
  const senders: Record<string, string>[] = [
    {},
    { origin: 'https://evil.example' },
    { origin: 'https://evil.app.example.com' },
    { origin: 'https://app.example.com.evil.example' },
    { origin: 'http://app.example.com' },
    { origin: 'https://app.example.com:8443' },
    { origin: 'null' },
    { ...OWN_PAGE, 'sec-fetch-site': 'same-site' },
    { ...OWN_PAGE, 'sec-fetch-site': 'cross-site' },
    { ...OWN_PAGE, 'sec-fetch-site': 'none' },
  ];
  for (const headers of senders) {
    const response = await post(headers);
    expect([headers, response.status]).toEqual([headers, 403]);
    expect(response.headers.get('access-control-allow-origin')).toBeNull();
  }
  expect((await post(OWN_PAGE)).status).toBe(201);
  const read = await sendTo(browser, '/api/auth/me', { headers: { authorization, 'sec-fetch-site': 'same-site' } });
  expect(read.status).toBe(403);
  expect((await sendTo(browser, '/api/notes', { method: 'OPTIONS', headers: OWN_PAGE })).status).toBe(405);
});

test('the cookie alone is not enough: a link, a form or an image of another site carries no id of the session', async () => {
  const { browser, sessionId } = await signedIn('Ada');
  expect((await sendTo(browser, '/api/auth/me')).status).toBe(401);
  expect((await sendTo(browser, '/api/auth/me', { headers: { authorization: 'Bearer sid_current' } })).status).toBe(
    401,
  );
  expect((await sendTo(browser, '/api/auth/session')).status).toBe(404);
  const other = `Bearer sid_${'0'.repeat(32)}`;
  expect((await sendTo(browser, '/api/auth/me', { headers: { authorization: other } })).status).toBe(401);
  const own = `Bearer ${sessionId}`;
  expect((await sendTo(browser, '/api/auth/me', { headers: { authorization: own } })).status).toBe(200);
  expect((await sendTo(createBrowser(), '/api/auth/me', { headers: { authorization: own } })).status).toBe(401);
});

test('a page cannot pass a token of its own on, and neither cookies nor headers about clients reach the API', async () => {
  const { browser, token, sessionId } = await signedIn('Ada', { clientAddress: () => '203.0.113.7' });
  const own = await sendTo(browser, '/api/auth/me', { headers: { authorization: `Bearer ${token}` } });
  expect(own.status).toBe(401);

  const sent: Headers[] = [];
  const spying = createBrowser({
    headers: ['X-Tracking', 'X-Forwarded-Host', 'Cookie', 'Authorization'],
    clientAddress: ({ headers }) => headers.get('cf-connecting-ip') ?? undefined,
    fetch: async (_target, init) => {
      sent.push(new Headers(init!.headers));
      return Response.json({ data: [] });
    },
  });
  const hostile = {
    'x-forwarded-for': '10.0.0.1',
    'x-forwarded-host': 'evil.example',
    forwarded: 'for=10.0.0.1',
    'x-real-ip': '10.0.0.1',
    'proxy-authorization': 'Basic x',
    referer: `${ORIGIN}/secret`,
    'x-tracking': 'kept',
    'x-other': 'dropped',
    accept: 'application/json',
    'cf-connecting-ip': '203.0.113.9',
  };
  await sendTo(spying, '/api/notes', { headers: hostile });
  expect(Object.fromEntries(sent[0]!)).toEqual({
    accept: 'application/json',
    'x-tracking': 'kept',
    'x-forwarded-for': '203.0.113.9',
  });
  await sendTo(spying, '/api/notes', { headers: { ...hostile, 'cf-connecting-ip': '1.1.1.1, 10.0.0.1' } });
  expect(sent[1]!.get('x-forwarded-for')).toBeNull();
  expect(sessionId).toBeDefined();
});

test('only paths below /api of the configured API are reached, however they are written', async () => {
  const targets: string[] = [];
  const browser = createBrowser({
    url: 'https://api.example.com/base/',
    fetch: async (target) => {
      targets.push(String(target));
      return Response.json({ data: [] });
    },
  });
  const send = async (path: string) =>
    (await browser.cookies.handle(new Request(ORIGIN + path, { headers: OWN_PAGE }))).status;
  const refused = [
    ...[
      '/',
      '/apis/x',
      '/admin',
      '/API/notes',
      '/api',
      '/api/../metrics',
      '/api/%2e%2e/metrics',
      '//evil.example/api/x',
    ],
    ...['/api/..%2fmetrics', '/api/x/..%5c..%5cmetrics', '/api/%252e%252e%252fmetrics', '/api/..;/metrics', '/api/%zz'],
    ...[
      '/api/%252e%252e%252fmetrics%2525zz',
      '/api/%25%32%65./metrics',
      '/api/x%255c..%255cy%25zz',
      '/api/..%252fx%25ff',
    ],
    ...['/api/x%00y', '/api/x%0d%0ahost:evil', '/api/%25252525252e', '/\\evil.example/api/'],
  ];
  for (const path of refused) expect([path, await send(path)]).toEqual([path, 404]);
  expect(targets).toEqual([]);
  for (const path of [
    '/api/notes?q=..%2f..',
    '/api//evil.example/x',
    '/api/@evil.example',
    '/api/posts/a%2Fb/c%25d',
    '/api/100%25',
  ])
    expect([path, await send(path)]).toEqual([path, 200]);
  expect(targets).toEqual([
    'https://api.example.com/base/api/notes?q=..%2f..',
    'https://api.example.com/base/api//evil.example/x',
    'https://api.example.com/base/api/@evil.example',
    'https://api.example.com/base/api/posts/a%2Fb/c%25d',
    'https://api.example.com/base/api/100%25',
  ]);
});

test('only the response to a sign-in becomes the session, and every other response keeps its members', async () => {
  const session = { user: {}, token: `svc_${'a'.repeat(64)}`, expiresAt: '2100-01-01T00:00:00.000Z' };
  const send = async (path: string, body = JSON.stringify({ data: session }), type = 'application/json') => {
    const browser = createBrowser({ fetch: async () => new Response(body, { headers: { 'content-type': type } }) });
    const response = await sendTo(browser, path, { method: 'POST', headers: OWN_PAGE });
    const isSession = response.headers.getSetCookie().length === 1;
    return { status: response.status, isSession, text: await response.text() };
  };
  const signIns = [
    ...['login', 'register', '2fa/verify', 'passkeys/sign-in', 'passkeys/second-factor', 'oidc/exchange'],
    ...['oidc/acme/token', 'email-sign-in/verify', 'email/verify', 'invitations/accept', 'Login/', 'l%6fgin'],
  ];
  for (const name of signIns) {
    const { isSession, text } = await send(`/api/auth/${name}`);
    expect([name, isSession, text.includes(session.token)]).toEqual([name, true, false]);
  }
  const unchanged = { status: 200, isSession: false, text: JSON.stringify({ data: session }) };
  for (const path of ['/api/notes', '/api/auth/devices', '/api/auth/oidc/a/b/token', '/api/x/api/auth/login'])
    expect([path, await send(path)]).toEqual([path, unchanged]);
  for (const type of ['application/problem+json', 'text/json', 'application/jsonl'])
    expect([type, await send('/api/auth/login', undefined, type)]).toEqual([type, unchanged]);
  expect(await send('/api/auth/login', undefined, 'application/json; charset=utf-8')).toMatchObject({
    isSession: true,
  });
  for (const text of ['{"data":{"token":"svc_', 'null', '{"data":null}'])
    expect(await send('/api/auth/login', text)).toEqual({ status: 200, isSession: false, text });
});

test('a response of the API sets no cookie, no access for other origins, and is stored by no shared cache', async () => {
  const browser = createBrowser({
    fetch: async () =>
      new Response('{"data":[]}', {
        headers: {
          'content-type': 'application/json',
          'set-cookie': 'tracking=1',
          'access-control-allow-origin': '*',
          'clear-site-data': '"cookies"',
          'service-worker-allowed': '/',
          'cdn-cache-control': 'max-age=60',
          'cloudflare-cdn-cache-control': 'max-age=60',
          'surrogate-control': 'max-age=60',
          'surrogate-key': 'a',
          'x-accel-redirect': '/secret',
          'x-accel-expires': '60',
          'x-sendfile': '/etc/passwd',
          refresh: '0; url=https://evil.example',
          'cache-control': 'public, max-age=60',
          'content-encoding': 'gzip',
          'x-content-type-options': 'nosniff',
          etag: '"1"',
        },
      }),
  });
  const { headers } = await sendTo(browser, '/api/notes', { headers: OWN_PAGE });
  expect(Object.fromEntries(headers)).toEqual({
    'content-type': 'application/json',
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
    etag: '"1"',
    vary: 'Cookie',
  });
});

test('a cookie that is malformed, expired, or there twice is none', async () => {
  const { content } = await signedIn('Ada');
  const cookies = cookieSession({ url, origin: ORIGIN });
  const read = (cookie: string) => cookies.token({ headers: new Headers({ cookie }) });
  const [token] = content.split('.');
  expect(read(`a=b; __Host-belfry=${content}; c=d`)).toBe(token);
  expect(read(`__Host-belfry=${content}; __Host-belfry=${content}`)).toBeUndefined();
  expect(read(`__Host-belfry=${token}.1`)).toBeUndefined();
  expect(read(`__Host-belfry=${token}`)).toBeUndefined();
  expect(read(`belfry=${content}`)).toBeUndefined();
  expect(read(`__Host-belfry=svc_ak_${'0'.repeat(61)}.9999999999999`)).toBeUndefined();
  expect(cookies.token({ headers: new Headers() })).toBeUndefined();
});

test('a redirect of the API is not followed', async () => {
  const elsewhere: string[] = [];
  const trap = createServer((req, res) => {
    elsewhere.push(`${req.url}`);
    res.end('{}');
  }).listen(0);
  const redirecting = createServer((_, res) => {
    res.writeHead(307, { location: `http://localhost:${(trap.address() as { port: number }).port}/stolen` }).end();
  }).listen(0);
  onTestFinished(() => {
    trap.close();
    redirecting.close();
  });
  await vi.waitUntil(() => trap.listening && redirecting.listening);
  const { port } = redirecting.address() as { port: number };
  const response = await sendTo(createBrowser({ url: `http://localhost:${port}` }), '/api/notes', {
    headers: OWN_PAGE,
  });
  expect([response.status, elsewhere]).toEqual([307, []]);
});

test('settings that cannot be safe are refused', () => {
  const create = (options: Partial<CookieSessionOptions>) => () => cookieSession({ url, origin: ORIGIN, ...options });
  expect(create({ origin: 'http://app.example.com' })).toThrow('https origin');
  expect(create({ origin: 'https://app.example.com/' })).toThrow('https://app.example.com');
  expect(create({ url: 'ftp://api.example.com' })).toThrow('url must be');
  expect(create({ url: 'https://user:secret@api.example.com' })).toThrow('url must be');
  expect(create({ name: 'a; Domain=example.com' })).toThrow('name must be');
  const local = cookieSession({ url, origin: 'http://localhost:3000' });
  expect(local.token({ headers: new Headers({ cookie: `belfry=svc_${'a'.repeat(64)}.9999999999999` }) })).toBeDefined();
});
