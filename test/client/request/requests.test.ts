import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ApiError, createClient, type TokenSource } from '../../../packages/client/src/index.ts';
import { createRequester } from '../../../packages/client/src/request/requester.ts';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const post = defineResource('post', {
  fields: { title: f.string().required().filterable() },
  policies: { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' },
  routes: (route) => [route.post('/:id/touch', { policy: 'public' }, ({ doc }) => doc)],
});
const { url, person } = await startTestApp({ resources: [defineUser(), post] });

/** Starts a server for one test. Returns its address and the requests that it has got. */
async function startServer(respond: RequestListener): Promise<{ address: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((req, res) => {
    requests.push(req);
    respond(req, res);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

const page = JSON.stringify({ data: [], meta: { limit: 20 } });
const JSON_TYPE = { 'Content-Type': 'application/json' };
const refusal = (code: string) => JSON.stringify({ error: { code, message: code, requestId: '1' } });

/** A fetch that performs its first requests, but loses their responses. */
function losingResponses(count: number, seen: Headers[] = []): typeof fetch {
  return async (target, init) => {
    seen.push(new Headers(init?.headers));
    const response = await fetch(target, init);
    if (seen.length > count) return response;
    throw new TypeError('The connection was lost');
  };
}

test('a read is sent again after a lost connection, a 429 and a 503, and at most as often as the client allows', async () => {
  let failures = 2;
  const { address, requests } = await startServer((req, res) => {
    if (failures-- <= 0) res.writeHead(200, JSON_TYPE).end(page);
    else if (failures === 1) req.socket.destroy();
    else res.writeHead(429, { ...JSON_TYPE, 'Retry-After': '0' }).end(refusal('RATE_LIMITED'));
  });
  expect((await createClient({ url: address }).posts!.list()).data).toEqual([]);
  expect(requests).toHaveLength(3);
  failures = 10;
  await expect(createClient({ url: address, retries: 1 }).posts!.list()).rejects.toMatchObject({ status: 429 });
  expect(requests).toHaveLength(5);
  failures = 1;
  await expect(createClient({ url: address, retries: 0 }).posts!.list()).rejects.toMatchObject({ status: 429 });
});

test('a create whose response is lost is repeated with the same key and creates one record', async () => {
  const seen: Headers[] = [];
  const { posts } = createClient({ url, fetch: losingResponses(2, seen) });
  await posts!.create({ title: 'Once' });
  expect(new Set(seen.map((headers) => headers.get('idempotency-key'))).size).toBe(1);
  expect(seen).toHaveLength(3);
  const { meta } = await createClient({ url }).posts!.list({ where: { title: 'Once' } });
  expect(meta.total).toBe(1);
  const keys: Headers[] = [];
  const other = createClient({ url, fetch: losingResponses(0, keys) }).posts!;
  await other.create({ title: 'A' });
  await other.create({ title: 'A' });
  expect(new Set(keys.map((headers) => headers.get('idempotency-key'))).size).toBe(2);
});

test('updates are repeated only with ifMatch; deletions and custom routes are sent once', async () => {
  const record = (await createClient({ url }).posts!.create({ title: 'First' })) as { id: string };
  const { id } = record;
  const attempts = async (act: (posts: ReturnType<typeof createClient>['posts'] & object) => Promise<unknown>) => {
    const seen: Headers[] = [];
    const failing: typeof fetch = async (_, init) => {
      seen.push(new Headers(init?.headers));
      throw new TypeError('There is no connection');
    };
    await expect(act(createClient({ url, fetch: failing }).posts!)).rejects.toMatchObject({
      status: 0,
      code: 'NETWORK_ERROR',
    });
    return seen.length;
  };
  expect(await attempts((posts) => posts.update(id, { title: 'Second' }))).toBe(1);
  expect(await attempts((posts) => posts.update(id, { title: 'Second' }, { ifMatch: record }))).toBe(3);
  expect(await attempts((posts) => posts.delete(id, { ifMatch: record }))).toBe(1);
  expect(await attempts((posts) => posts.call('POST /:id/touch', { params: { id } }))).toBe(1);
  expect(await attempts((posts) => posts.get(id))).toBe(3);
});

test('a call does not wait for a Retry-After that is longer than its time-out', async () => {
  const { address, requests } = await startServer((_, res) =>
    res.writeHead(503, { ...JSON_TYPE, 'Retry-After': '40' }).end(refusal('UNAVAILABLE')),
  );
  await expect(createClient({ url: address }).posts!.list()).rejects.toMatchObject({ retryAfterMs: 40_000 });
  expect(requests).toHaveLength(1);
});

test('a repeated create waits while the server still processes its first attempt', async () => {
  const { address, requests } = await startServer((req, res) => {
    if (requests.length === 1) req.socket.destroy();
    else if (requests.length === 2) res.writeHead(409, { ...JSON_TYPE, 'Retry-After': '0' }).end(refusal('CONFLICT'));
    else res.writeHead(201, JSON_TYPE).end('{"data":{"id":"1"}}');
  });
  expect(await createClient({ url: address }).posts!.create({})).toEqual({ id: '1' });
});

test('a server that does not respond, or stops in the middle, ends the call with TIMEOUT', async () => {
  const { address } = await startServer((req, res) => {
    if (req.url!.includes('half')) res.writeHead(200, JSON_TYPE).write('{"data":');
  });
  const client = createClient({ url: address, timeoutMs: 100 });
  await expect(client.posts!.list()).rejects.toMatchObject({ status: 0, code: 'TIMEOUT' });
  await expect(client.half!.list()).rejects.toMatchObject({ code: 'TIMEOUT' });
  const hanging = createClient({ url: address, fetch: () => new Promise(() => undefined) });
  await expect(hanging.posts!.list({}, { timeoutMs: 20 })).rejects.toMatchObject({ code: 'TIMEOUT' });
});

test('an aborted call rejects with the reason of its signal: before, during and between attempts', async () => {
  const { address, requests } = await startServer((req, res) => {
    if (req.url!.includes('busy'))
      res.writeHead(503, { ...JSON_TYPE, 'Retry-After': '20' }).end(refusal('UNAVAILABLE'));
  });
  const client = createClient({ url: address });
  const reason = new Error('The user left');
  await expect(client.posts!.list({}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(requests).toHaveLength(0);
  for (const resource of ['hanging', 'busy']) {
    const controller = new AbortController();
    const before = requests.length;
    const call = client[resource]!.list({}, { signal: controller.signal });
    await vi.waitUntil(() => requests.length > before);
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  }
});

test('the page of a proxy and a response of another server are reported clearly', async () => {
  const { address } = await startServer((req, res) => {
    if (req.url!.includes('gateway')) res.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>Bad gateway</h1>');
    else if (req.url!.includes('site')) res.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>');
    else if (req.url!.includes('broken')) res.writeHead(200, JSON_TYPE).end('{"data":');
    else if (req.url!.includes('other')) res.writeHead(400, JSON_TYPE).end('{"message":"no"}');
    else res.writeHead(201).end();
  });
  const client = createClient({ url: address });
  const errorOf = (key: string) => client[key]!.list().catch((error: unknown) => error);
  const code = 'INVALID_RESPONSE';
  expect(await errorOf('gateways')).toMatchObject({ status: 502, code, message: expect.stringContaining('text/html') });
  expect(await errorOf('sites')).toMatchObject({ status: 200, code, message: expect.stringContaining(address) });
  expect(await errorOf('broken')).toMatchObject({
    status: 200,
    code,
    message: expect.stringContaining('invalid JSON'),
  });
  expect(await errorOf('others')).toMatchObject({ status: 400, code });
  expect(await client.request({ method: 'POST', path: '/empty' })).toMatchObject({ status: 201, data: undefined });
});

test('a redirect is not followed, so that the token does not reach another server', async () => {
  const other = await startServer((_, res) => res.writeHead(200, JSON_TYPE).end(page));
  const { address } = await startServer((_, res) =>
    res.writeHead(307, { Location: `${other.address}/api/posts` }).end(),
  );
  const client = createClient({ url: address, token: 'svc_secret' });
  await expect(client.posts!.list()).rejects.toMatchObject({
    status: 307,
    code: 'INVALID_RESPONSE',
    message: expect.stringContaining(`a redirect to ${other.address}`),
  });
  expect(other.requests).toHaveLength(0);
});

test('requests have the token, the organisation, the language and the headers of the client', async () => {
  const { address, requests } = await startServer((_, res) => res.writeHead(200, JSON_TYPE).end(page));
  let organisation: string | undefined = 'acme';
  const client = createClient({
    url: `${address}/backend/`,
    token: async () => 'svc_1',
    locale: 'de',
    organisation: () => organisation,
    headers: { 'X-Trace': 'a', 'X-Kind': 'b' },
  });
  await client.blogPosts!.list({ q: 'ä & [b]' }, { headers: { 'x-kind': 'c' } });
  organisation = undefined;
  await client.request({ method: 'GET', path: '/posts', token: null });
  await client.request({ method: 'GET', path: '/posts', headers: { Authorization: 'Bearer own' } });
  expect(requests[0]!.url).toBe('/backend/api/blog-posts?q=%C3%A4%20%26%20[b]');
  expect(requests[0]!.headers).toMatchObject({
    ...{ authorization: 'Bearer svc_1', 'x-organisation': 'acme', 'accept-language': 'de' },
    ...{ 'x-trace': 'a', 'x-kind': 'c', accept: 'application/json' },
  });
  expect(requests[1]!.headers.authorization).toBeUndefined();
  expect(requests[1]!.headers['x-organisation']).toBeUndefined();
  expect(requests[2]!.headers.authorization).toBe('Bearer own');
});

test('a path cannot lead out of the API, and its query is extended', async () => {
  const { address, requests } = await startServer((_, res) => res.writeHead(200, JSON_TYPE).end(page));
  const client = createClient({ url: `${address}/backend` });
  for (const path of [
    'posts',
    '/../x',
    '/a/..',
    '/a/%2E%2e/x',
    '/a/.%2e',
    '/\\..\\x',
    '/.\t./x',
    '/a/./b',
    '/a#b',
    '/..?x',
  ])
    await expect(client.request({ method: 'GET', path })).rejects.toThrow('must begin with a slash');
  await expect(client.request({ method: 'GET', path: '/posts', json: {} })).rejects.toThrow('cannot have a body');
  expect(requests).toHaveLength(0);
  await client.request({ method: 'GET', path: '/posts/a..b?x=1', query: { y: [1, 2], z: undefined } });
  expect(requests[0]!.url).toBe('/backend/api/posts/a..b?x=1&y=1,2');
});

/** A session whose token the test sets. */
function createTokens(token: string | undefined, parts: Partial<TokenSource> = {}) {
  const refused: string[] = [];
  const source: TokenSource = { getToken: () => token, onTokenRefused: (one) => refused.push(one), ...parts };
  return { source, refused };
}

test('only a token that the server no longer accepts counts as refused, not a wrong password', async () => {
  const ada = await person('Ada');
  const { source, refused } = createTokens(ada.token);
  const requester = createRequester(url, source, {});
  const json = { password: 'wrong' };
  await expect(requester.send({ method: 'POST', path: '/auth/reauthenticate', json })).rejects.toThrow(ApiError);
  expect(refused).toEqual([]);
  await ada.call('POST', '/api/auth/logout');
  await expect(requester.send({ method: 'GET', path: '/posts' })).rejects.toMatchObject({ status: 401 });
  expect(refused).toEqual([ada.token]);
  const own = requester.send({ method: 'GET', path: '/posts', token: 'svc_own' });
  await expect(own).rejects.toMatchObject({ status: 401 });
  expect(refused).toHaveLength(1);
});

test('a request that needs a recent sign-in is sent again once after the user has confirmed', async () => {
  const { address, requests } = await startServer((req, res) => {
    if (req.headers.authorization === 'Bearer new') res.writeHead(200, JSON_TYPE).end(page);
    else res.writeHead(403, JSON_TYPE).end(refusal('RECENT_SIGN_IN_REQUIRED'));
  });
  let token = 'old';
  const { source } = createTokens(undefined, { getToken: () => token, confirmRecentSignIn: () => true });
  const request = { method: 'DELETE', path: '/auth/me' } as const;
  const requester = createRequester(address, source, {});
  await expect(requester.send(request)).rejects.toMatchObject({ code: 'RECENT_SIGN_IN_REQUIRED' });
  expect(requests).toHaveLength(2);
  const confirm = () => {
    token = 'new';
    return true;
  };
  await createRequester(address, { ...source, confirmRecentSignIn: confirm }, {}).send(request);
  expect(requests).toHaveLength(4);
  token = 'old';
  const declining = createRequester(address, { ...source, confirmRecentSignIn: () => false }, {});
  await expect(declining.send(request)).rejects.toMatchObject({ status: 403 });
  expect(requests).toHaveLength(5);
});

test('the time in which the user confirms a recent sign-in does not count for the time-out', async () => {
  const timeoutMs = 1500;
  const { address } = await startServer((req, res) => {
    if (req.url!.includes('hanging')) return;
    if (req.headers.authorization === 'Bearer new') res.writeHead(200, JSON_TYPE).end(page);
    else res.writeHead(403, JSON_TYPE).end(refusal('RECENT_SIGN_IN_REQUIRED'));
  });
  let token = 'old';
  const { source } = createTokens(undefined, {
    getToken: () => token,
    // Takes as long as a call may take.
    async confirmRecentSignIn() {
      const hanging = createClient({ url: address, timeoutMs }).hanging!.list();
      await expect(hanging).rejects.toMatchObject({ code: 'TIMEOUT' });
      token = 'new';
      return true;
    },
  });
  const { status } = await createRequester(address, source, { timeoutMs }).send({ method: 'DELETE', path: '/auth/me' });
  expect(status).toBe(200);
});

test('an address that requests cannot be sent to is refused with an explanation', () => {
  for (const bad of [undefined, '', 'api.example.com', 'ftp://x', 'https://user@x', 'https://x?y', 'https://'])
    expect(() => createClient({ url: bad })).toThrow('url must be the address of the app');
  expect(createClient({ url: 'https://x.example/a//' }).url).toBe('https://x.example/a');
});
