import { createServer } from 'node:http';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  type CookieSessionOptions,
  cookieSession,
  cookieStorage,
  createClient,
  memoryStorage,
} from '../../../src/client/index.ts';
import { defineResource, defineUser, f, oidc } from '../../../src/index.ts';
import { startFakeProvider } from '../../fakes/oidc-provider.ts';
import { startTestApp } from '../../support/app.ts';

const PASSWORD = 'correct horse battery';
const ORIGIN = 'https://app.example.com';
const fake = await startFakeProvider();
const note = defineResource('note', {
  fields: { text: f.string(), author: f.ref('user').owner() },
  policies: { list: 'owner', read: 'owner' },
});
const { url, person } = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [oidc({ providers: { acme: { issuer: fake.issuer, clientId: 'a', clientSecret: 'b' } } })],
  },
  { start: { roles: ['web'] } },
);

/** The headers that a browser adds to a request of a page. */
const OWN_PAGE = { origin: ORIGIN, 'sec-fetch-site': 'same-origin' };

/** A browser with the cookies of one origin, whose pages reach the handler through `fetch`. */
function createBrowser(options: Partial<CookieSessionOptions> = {}) {
  const cookies = cookieSession({ url, origin: ORIGIN, ...options });
  const jar = new Map<string, string>();
  const responses: { headers: Headers; text: string }[] = [];
  const pageFetch: typeof fetch = async (target, init) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(OWN_PAGE)) headers.set(name, value);
    headers.set('cookie', Array.from(jar, ([name, value]) => `${name}=${value}`).join('; '));
    const response = await cookies.handle(new Request(String(target), { ...init, headers }));
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
      if (cookie.includes('Max-Age=0;')) jar.delete(name!);
      else jar.set(name!, value!);
    }
    responses.push({ headers: response.headers, text: await response.clone().text() });
    return response;
  };
  return {
    cookies,
    jar,
    responses,
    openTab: () =>
      createClient({ url: ORIGIN, fetch: pageFetch, storage: cookieStorage({ url: ORIGIN, fetch: pageFetch }) }),
    cookieHeader: () => Array.from(jar, ([name, value]) => `${name}=${value}`).join('; '),
  };
}

/** Sends a request to the handler as it is, with the cookie of a browser. */
function sendTo(
  { cookies, cookieHeader }: ReturnType<typeof createBrowser>,
  path: string,
  { headers, ...init }: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
): Promise<Response> {
  return cookies.handle(new Request(ORIGIN + path, { ...init, headers: { cookie: cookieHeader(), ...headers } }));
}

/** Signs a new user in, in a new browser. */
async function signedIn(name: string, options: Partial<CookieSessionOptions> = {}) {
  const browser = createBrowser(options);
  const user = await person(name);
  const tab = browser.openTab();
  await tab.auth.signIn({ email: user.email, password: PASSWORD });
  const content = browser.jar.get('__Host-belfry')!;
  const sessionId = JSON.parse(browser.responses.at(-1)!.text).data.sessionId as string;
  return { ...user, browser, tab, content, sessionId };
}

test('the token of a sign-in is in the cookie alone, and requests of pages are sent with it until the sign-out', async () => {
  const { browser, tab, id, content, sessionId } = await signedIn('Ada');
  expect(tab.auth.session).toMatchObject({ user: { id }, token: undefined, expiresAt: expect.any(String) });
  const [token] = content.split('.') as [string];
  expect(token).toMatch(/^svc_[0-9a-f]{64}$/);
  const cookie = browser.responses.at(-1)!.headers.getSetCookie();
  expect(cookie).toEqual([
    expect.stringMatching(/^__Host-belfry=svc_\w+\.\d+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax; Secure$/),
  ]);
  expect(Number(/Max-Age=(\d+)/.exec(cookie[0]!)![1])).toBeGreaterThan(29 * 86_400);
  expect(sessionId).toMatch(/^sid_[0-9a-f]{32}$/);

  const created = (await tab.resource('notes').create({ text: 'Bells' })) as { id: string };
  expect(await tab.resource('notes').get(created.id)).toMatchObject({ text: 'Bells', author: id });
  for (const { text } of browser.responses) expect(text).not.toContain(token);

  await tab.auth.signOut();
  expect([tab.auth.session, browser.jar.size]).toEqual([undefined, 0]);
  await expect(createClient({ url, token }).request({ method: 'GET', path: '/auth/me' })).rejects.toMatchObject({
    status: 401,
  });
});

test('a page that is loaded again, and another tab, find the session of the cookie', async () => {
  const { browser, id } = await signedIn('Ada');
  const tab = browser.openTab();
  expect(await tab.auth.ready()).toMatchObject({ user: { id }, token: undefined });
  expect((await tab.resource('notes').list()).data).toEqual([]);
  expect(await createBrowser().openTab().auth.ready()).toBeUndefined();
});

test('a request of a tab whose user has been replaced in the cookie is not sent for the new user', async () => {
  const { browser, tab } = await signedIn('Ada');
  const bob = await person('Bob');
  await browser.openTab().auth.signIn({ email: bob.email, password: PASSWORD });
  await expect(tab.resource('notes').create({ text: 'of Ada' })).rejects.toMatchObject({ status: 401 });
  await expect.poll(() => tab.auth.session?.user.id).toBe(bob.id);
  expect((await tab.resource('notes').list()).data).toEqual([]);
});

test('a session that has ended on the server ends in the page, and a sign-in follows', async () => {
  const { browser, tab, call, email } = await signedIn('Ada');
  await call('POST', '/api/auth/logout-all');
  await expect(tab.auth.sessions.list()).rejects.toMatchObject({ status: 401 });
  await expect.poll(() => tab.auth.session).toBeUndefined();
  expect(await browser.openTab().auth.ready()).toBeUndefined();
  expect(await tab.auth.signIn({ email, password: PASSWORD })).toMatchObject({ status: 'signedIn' });
});

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
    ...['/api/x%00y', '/api/x%0d%0ahost:evil', '/api/%25252525252e', '/\\evil.example/api/'],
  ];
  for (const path of refused) expect([path, await send(path)]).toEqual([path, 404]);
  expect(targets).toEqual([]);
  for (const path of ['/api/notes?q=..%2f..', '/api//evil.example/x', '/api/@evil.example', '/api/posts/a%2Fb/c%25d'])
    expect([path, await send(path)]).toEqual([path, 200]);
  expect(targets).toEqual([
    'https://api.example.com/base/api/notes?q=..%2f..',
    'https://api.example.com/base/api//evil.example/x',
    'https://api.example.com/base/api/@evil.example',
    'https://api.example.com/base/api/posts/a%2Fb/c%25d',
  ]);
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

test('the API gets the bodies of uploads as they arrive, and an API that cannot be reached is a 503', async () => {
  const { browser, sessionId } = await signedIn('Ada');
  const headers = { ...OWN_PAGE, authorization: `Bearer ${sessionId}`, 'content-type': 'application/json' };
  const body = new Blob(['{"text":', '"streamed"}']).stream();
  const created = await sendTo(browser, '/api/notes', { method: 'POST', headers, body, duplex: 'half' } as object);
  expect((await created.json()) as object).toMatchObject({ data: { text: 'streamed' } });

  const errors: unknown[] = [];
  const offline = createBrowser({ url: 'http://127.0.0.1:9', onError: (error) => errors.push(error) });
  const response = await sendTo(offline, '/api/notes', { headers: OWN_PAGE });
  expect([response.status, await response.json()]).toEqual([
    503,
    { error: { code: 'UNAVAILABLE', message: 'The API cannot be reached', requestId: expect.any(String) } },
  ]);
  expect(errors).toHaveLength(1);
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

test('the sign-in at a provider begins at the API itself', async () => {
  const tab = createBrowser().openTab();
  const start = await tab.auth.oidc.createSignInUrl('acme');
  expect(start).toContain(`${ORIGIN}/api/auth/oidc/acme/start?codeChallenge=`);
  const response = await createBrowser().cookies.handle(
    new Request(start, { headers: { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' } }),
  );
  expect([response.status, response.headers.get('location')]).toEqual([303, start.replace(ORIGIN, url)]);
});

test('a server renders a page with the session of the cookie, and hands the session on without its token', async () => {
  const { browser, id, sessionId, content } = await signedIn('Ada');
  const request = new Request(`${ORIGIN}/page`, { headers: { cookie: browser.cookieHeader() } });
  const client = createClient({ url, storage: browser.cookies.storage(request) });
  const session = await client.auth.ready();
  expect(session).toMatchObject({ user: { id }, token: content.split('.')[0] });
  const initial = await browser.cookies.toPageSession(session!);
  expect(initial).toEqual({ sessionId, user: session!.user, expiresAt: session!.expiresAt });
  const page = createClient({ url: ORIGIN, storage: cookieStorage({ initial: JSON.parse(JSON.stringify(initial)) }) });
  expect(page.auth.session).toBeUndefined();
  expect(await page.auth.ready()).toMatchObject({ user: { id }, token: undefined });
});

test('a form that a server handles signs in and out with the cookie', async () => {
  const ada = await person('Ada');
  const cookies = cookieSession({ url, origin: ORIGIN });
  const headers = new Headers();
  const request = new Request(`${ORIGIN}/sign-in`);
  const client = createClient({ url, storage: cookies.storage(request, headers) });
  await client.auth.signIn({ email: ada.email, password: PASSWORD });
  const [cookie] = headers.getSetCookie();
  expect(cookie).toContain(`__Host-belfry=${client.auth.session!.token}.`);
  await client.auth.signOut();
  expect(headers.getSetCookie()[1]).toBe('__Host-belfry=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax; Secure');

  const reading = createClient({ url, storage: cookies.storage(request) });
  await expect(reading.auth.signIn({ email: ada.email, password: PASSWORD })).rejects.toThrow(
    'headers of the response',
  );
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

test('a page that uses cookies without the handler learns what is missing', async () => {
  const ada = await person('Ada');
  const storage = { ...memoryStorage(), hidesToken: true };
  const { auth } = createClient({ url, storage });
  await expect(auth.signIn({ email: ada.email, password: PASSWORD })).rejects.toThrow('handler of cookieSession');
  expect(storage.read()).toBeUndefined();
});
