import { connect } from 'node:net';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { ApiError, defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const post = defineResource('post', {
  fields: {
    title: f.string().required().max(200).filterable(),
    slug: f.string().unique(),
    anything: f.json(),
    author: f.ref('user').owner(),
  },
  policies: { list: 'public', read: 'public', create: 'authenticated' },
  routes: (route) => [
    route.get('/feed', { policy: 'public' }, () => ['feed']),
    route.get('/boom', { policy: 'public' }, () => {
      throw new Error('the secret of the house');
    }),
    route.post('/checked', { policy: 'public', input: z.strictObject({}) }, () => 1),
    route.get('/undecodable', { policy: 'public' }, () => decodeURIComponent('%zz')),
    route.get('/teapot', { policy: 'public' }, () => {
      throw new ApiError('CONFLICT', 'No coffee', { details: { pot: 'Is a teapot' } });
    }),
    route.get('/of/:slug', { policy: 'public' }, ({ params }) => params),
    route.get('/:slug', { policy: 'public' }, ({ params }) => params),
  ],
});
const frozen = defineResource('page', { fields: { title: f.string() }, crud: ['list'], policies: { list: 'public' } });

const { url, call, person } = await startTestApp(
  { resources: [defineUser(), post, frozen], settings: { http: { bodyLimit: 100_000 } } },
  { env: () => ({ CORS_ORIGINS: 'https://app.example.com,https://other.example.com' }) },
);
const toAll = await startTestApp({ resources: [frozen] }, { env: () => ({ CORS_ORIGINS: '*' }) });
const ann = await person('Ann');
const json = { 'content-type': 'application/json' };

/** Sends a body unchanged and reads the response. */
async function send(body: string | Buffer, headers: Record<string, string>, path = '/api/posts') {
  const all = { authorization: `Bearer ${ann.token}`, ...headers };
  const response = await fetch(url + path, { method: 'POST', headers: all, body: body as string });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

/** Sends bytes on a socket and returns everything received until the server closes it or half a second passes. */
function raw(bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let got = '';
    socket.on('data', (chunk) => (got += chunk));
    socket.on('close', () => resolve(got));
    socket.on('error', () => resolve(got));
    socket.setTimeout(500, () => socket.destroy());
    socket.write(bytes);
  });
}

test.each([
  ['text/plain', 415],
  ['application/x-www-form-urlencoded', 415],
  ['multipart/form-data; boundary=x', 415],
  ['application/json; charset=utf-16', 415],
  ['application/json; charset=utf-7', 415],
  ['application/jsonp', 415],
  ['text/json, application/json', 415],
  ['application/json; charset=utf-8', 201],
  ['application/json;charset="UTF-8"', 201],
  ['application/json; charset=utf8', 201],
  ['application/json;charset=UTF8', 201],
  ['application/json; charset="utf8"', 201],
  ['application/json; charset="utf-8', 415],
  ['application/json; charset=utf-8"', 415],
  ['application/json; charset=utf88', 415],
  ['application/json; charset=utf--8', 415],
  ['application/json; charset=latin1', 415],
  ['APPLICATION/JSON', 201],
  ['application/json;', 201],
  ['application/json ; ', 201],
  ['application/json; foo=bar', 201],
  ['application/json;charset=utf-8; x=y', 201],
  ['application/json; x="a;charset=utf-16"; charset=UTF-8;', 201],
  ['application/json; x=y; charset=iso-8859-1', 415],
  ['application/json; charset=""', 415],
  ['application/; charset=utf-8', 415],
  ['json', 415],
  ['application/json; charset', 415],
  ['application/json charset=utf-8', 415],
  ['application/json; x="open', 415],
  ['application/merge-patch+json', 201],
])('a body of type %s returns %i', async (type, status) => {
  expect((await send('{"title":"x"}', { 'content-type': type })).status).toBe(status);
});

test.each([
  ['spaces', ' '],
  ['semicolons', ';'],
  ['parameters', ';x=y'],
  ['letters', 'x'],
  ['quotes', ';x="\\"'],
])('a content type with 60 kB of %s, ending in a non-ASCII character, returns 415', async (_what, part) => {
  const type = `application/json;${part.repeat(60_000 / part.length)}\u00e4`;
  expect((await send('{"title":"x"}', { 'content-type': type })).status).toBe(415);
});

test('a body without a content type returns 415', async () => {
  const response = await send(Buffer.from('{"title":"x"}'), {});
  expect([response.status, response.body.error.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
});

test.each(['{', '', '{"title":}', "{'title':1}", '{"title":"x"}{}', 'NaN', '{"title":"\u0000"}', '[1,]'])(
  'the body %j is not JSON and returns 400 INVALID_JSON, or 422 when it is empty',
  async (body) => {
    const response = await send(body, json);
    expect([response.status, response.body.error.code]).toEqual(
      body === '' ? [422, 'VALIDATION_ERROR'] : [400, 'INVALID_JSON'],
    );
  },
);

test.each(['[]', '"x"', '1', 'true', 'null'])('the body %s is not an object and returns 422', async (body) => {
  const response = await send(body, json);
  expect([response.status, response.body.error.details]).toEqual([422, { body: 'Must be an object' }]);
});

test.each([
  ['a broken byte', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  [
    'an encoded half of a surrogate pair',
    Buffer.concat([Buffer.from('{"title":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
  ],
  ['an overlong form', Buffer.concat([Buffer.from('{"title":"'), Buffer.from([0xc0, 0x80]), Buffer.from('"}')])],
])('invalid UTF-8 returns 400: %s', async (_what, bytes) => {
  expect((await send(bytes, json)).status).toBe(400);
});

test('gzip is decompressed; another encoding returns 415, and corrupt gzip returns 400', async () => {
  const gzip = { ...json, 'content-encoding': 'gzip' };
  expect((await send(gzipSync('{"title":"packed"}'), gzip)).body.data.title).toBe('packed');
  expect((await send('{"title":"x"}', { ...json, 'content-encoding': 'zstd' })).status).toBe(415);
  expect((await send('{"title":"x"}', { ...json, 'content-encoding': 'constructor' })).status).toBe(415);
  expect((await send('{"title":"x"}', gzip)).status).toBe(400);
  expect((await send(gzipSync('{"title":"cut"}').subarray(0, 20), gzip)).status).toBe(400);
  const twice = gzipSync(gzipSync('{"title":"twice"}'));
  expect((await send(twice, { ...json, 'content-encoding': 'gzip, gzip' })).status).toBe(415);
});

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
])('the body limit counts the decompressed size: a bomb of %s returns 413', async (encoding, pack) => {
  const bomb = pack(Buffer.alloc(50_000_000, 0x20));
  expect(bomb.length).toBeLessThan(100_000);
  const response = await send(bomb, { ...json, 'content-encoding': encoding });
  expect([response.status, response.body.error.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
});

test('a body above the limit returns 413', async () => {
  expect((await send(`{"title":"${'x'.repeat(100_000)}"}`, json)).status).toBe(413);
});

test('a body far above the limit gets a response, not a broken connection', async () => {
  for (let i = 0; i < 5; i++) {
    expect((await send(Buffer.alloc(20_000_000, 0x20), json)).status).toBe(413);
  }
});

test.each([33, 3000, 40_000])('JSON %i levels deep returns 422, and the next request succeeds', async (depth) => {
  const deep = '['.repeat(depth) + ']'.repeat(depth);
  expect((await send(`{"title":"x","anything":${deep}}`, json)).status).toBe(422);
  expect((await send('{"title":"x","anything":[[]]}', json)).status).toBe(201);
});

test('too many values return 422, too many keys 422 or 413', async () => {
  const many = await startValues(99_999);
  expect([413, 422]).toContain(many);
  const keys = `{${Array.from({ length: 9000 }, (_, i) => `"k${i}":1`).join(',')}}`;
  expect((await send(keys, json)).status).toBe(422);
});

async function startValues(count: number): Promise<number> {
  return (await send(`{"title":"x","anything":[${'1,'.repeat(count)}1]}`, json)).status;
}

test('the last of several repeated keys counts, both for validation and for storage', async () => {
  expect((await send('{"title":"first","title":"last"}', json)).body.data.title).toBe('last');
  expect((await send('{"title":"first","title":5}', json)).status).toBe(422);
});

test('an unknown method on a known path returns 405 with Allow, whatever an override header says', async () => {
  const response = await call('POST', '/api/pages', { title: 'x' }, { 'x-http-method-override': 'GET' });
  expect([response.status, response.headers.get('allow'), response.body.error.code]).toEqual([
    405,
    'GET, HEAD, OPTIONS',
    'METHOD_NOT_ALLOWED',
  ]);
  expect((await call('DELETE', '/api/posts')).headers.get('allow')).toBe('GET, POST, HEAD, OPTIONS');
  const { status, headers } = await call('PROPFIND', '/api/posts');
  expect([status, headers.get('allow')]).toEqual([405, 'GET, POST, HEAD, OPTIONS']);
  expect((await ann.call('POST', '/api/posts?_method=DELETE', { title: 'kept' })).status).toBe(201);
});

test('HEAD is GET without a body, and OPTIONS needs no authentication', async () => {
  const get = await call('GET', '/api/posts?limit=1');
  const head = await call('HEAD', '/api/posts?limit=1');
  expect([head.status, head.body, head.headers.get('content-type')]).toEqual([
    200,
    undefined,
    get.headers.get('content-type'),
  ]);
  expect(Number(head.headers.get('content-length'))).toBeGreaterThan(20);
  expect((await call('HEAD', '/api/users')).status).toBe(401);
  const options = await call('OPTIONS', '/api/users');
  expect([options.status, options.headers.get('allow')]).toEqual([204, 'GET, POST, HEAD, OPTIONS']);
});

test.each([
  '/API/posts',
  '/api/Posts',
  '/api/posts/',
  '//api/posts',
  '/api//posts',
  '/api/%70osts',
  '/api/posts;x',
  '/api/x/%2e%2e/posts',
  '/api/posts%2f',
  '/api/posts%00',
  '/api',
  '/api/',
  '/',
  '/api/nothing',
  '/api/posts/%zz',
  '/api/posts/%c3%28',
  '/api/__proto__',
  '/api/constructor',
])('the path %s is not an alternative spelling of a route and returns 404', async (path) => {
  const response = await raw(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  expect(response).toMatch(/^HTTP\/1\.1 404 /);
  expect(response).toContain('"code":"NOT_FOUND"');
});

test('parameter names do not distinguish paths: a custom GET shares its path with CRUD routes of the same shape', async () => {
  const { body } = await ann.call('POST', '/api/posts', { title: 'mine' });
  expect((await call('GET', `/api/posts/${body.data.id}`)).body.data).toEqual({ slug: body.data.id });
  expect((await call('GET', '/api/posts/feed')).body.data).toEqual(['feed']);
  expect((await call('GET', '/api/posts/of/a%20b')).body.data).toEqual({ slug: 'a b' });
  expect((await ann.call('PATCH', `/api/posts/${body.data.id}`, { title: 'changed' })).body.data.title).toBe('changed');
  const response = await call('POST', `/api/posts/${body.data.id}`, {});
  expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, PATCH, PUT, DELETE, HEAD, OPTIONS']);
});

test.each([
  ['an error thrown by application code', 'boom'],
  ['a URIError thrown by application code', 'undecodable'],
])('%s returns 500 INTERNAL and reveals no details', async (_what, path) => {
  const response = await call('GET', `/api/posts/${path}`);
  expect(response.status).toBe(500);
  expect(response.body).toEqual({
    error: { code: 'INTERNAL', message: 'Something went wrong', requestId: expect.any(String) },
  });
});

test('a body with very many errors returns the first of them, wherever they are detected', async () => {
  const keys = Array.from({ length: 8000 }, (_, i) => [`f${i}`, 1] as const);
  for (const path of ['/api/posts', '/api/posts/checked']) {
    const { status, body } = await ann.call('POST', path, Object.fromEntries([...keys, ['title', 5]]));
    expect([status, Object.keys(body.error.details)]).toEqual([422, keys.slice(0, 100).map(([name]) => name)]);
  }
});

test('an ApiError is returned as it is', async () => {
  const response = await call('GET', '/api/posts/teapot');
  expect([response.status, response.body.error]).toEqual([
    409,
    { code: 'CONFLICT', message: 'No coffee', requestId: expect.any(String), details: { pot: 'Is a teapot' } },
  ]);
});

test('a short, plain request id from the client is kept and any other is replaced; it is in the header and in every error', async () => {
  const kept = await call('GET', '/api/nothing', undefined, { 'x-request-id': 'abc.DEF_1-2' });
  expect([kept.headers.get('x-request-id'), kept.body.error.requestId]).toEqual(['abc.DEF_1-2', 'abc.DEF_1-2']);
  for (const bad of ['x'.repeat(129), 'a b', 'a/b', '<script>', 'ä']) {
    const made = await call('GET', '/api/nothing', undefined, { 'x-request-id': bad });
    expect(made.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(made.body.error.requestId).toBe(made.headers.get('x-request-id'));
  }
  expect((await call('GET', '/api/posts')).headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  const two = 'X-Request-Id: one\r\nX-Request-Id: two';
  const response = await raw(`GET /api/pages HTTP/1.1\r\nHost: x\r\n${two}\r\nConnection: close\r\n\r\n`);
  expect(response).toMatch(/^X-Request-Id: [0-9a-f-]{36}\r$/m);
});

test('responses are private to the client', async () => {
  expect((await call('GET', '/api/posts')).headers.get('cache-control')).toMatch(/private|no-store/);
  expect((await call('GET', '/api/nothing')).headers.get('cache-control')).toContain('no-store');
  expect((await ann.call('GET', '/api/auth/me')).headers.get('cache-control')).toContain('no-store');
});

test.each([
  ['https://app.example.com', 'https://app.example.com'],
  ['https://other.example.com', 'https://other.example.com'],
  ['https://evil.example.com', null],
  ['null', null],
  ['https://evil-app.example.com', null],
  ['https://app.example.com.evil.org', null],
  ['http://app.example.com', null],
])('the origin %s gets the CORS header %s', async (origin, allowed) => {
  const headers = (await call('GET', '/api/posts', undefined, { origin })).headers;
  expect(headers.get('access-control-allow-origin')).toBe(allowed);
  expect(headers.get('access-control-allow-credentials')).toBeNull();
  expect(headers.get('vary')).toContain('Origin');
});

test.each([
  ['an origin that is not listed', { origin: 'https://evil.example.com' }],
  ['no origin', {}],
])(
  '%s gets no CORS headers, whatever it requests, and Vary tells caches what the response depends on',
  async (_what, from) => {
    const preflight = { ...from, 'access-control-request-method': 'POST' };
    for (const response of [
      await call('GET', '/api/posts', undefined, from),
      await call('GET', '/api/nothing', undefined, from),
      await call('OPTIONS', '/api/posts', undefined, from),
      await call('OPTIONS', '/api/posts', undefined, preflight),
    ]) {
      expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
      expect(response.headers.get('vary')).toContain('Origin');
    }
  },
);

test('a preflight request needs no authentication', async () => {
  const headers = { origin: 'https://app.example.com', 'access-control-request-method': 'PATCH' };
  const response = await call('OPTIONS', '/api/users/0123456789abcdef01234567', undefined, headers);
  expect(response.status).toBe(204);
  expect(response.headers.get('access-control-allow-methods')).toContain('PATCH');
  for (const origin of ['https://evil.example.com', 'null']) {
    const refused = await call('OPTIONS', '/api/posts', undefined, { ...headers, origin });
    expect(refused.headers.get('access-control-allow-origin')).toBeNull();
  }
});

test('when every origin is allowed, none may send credentials', async () => {
  const { headers } = await toAll.call('GET', '/api/pages', undefined, { origin: 'https://any.example.org' });
  expect(headers.get('access-control-allow-origin')).toBe('*');
  expect(headers.get('access-control-allow-credentials')).toBeNull();
});

test('a browser may send conditional and idempotency headers, and read the corresponding response headers', async () => {
  const origin = 'https://app.example.com';
  const headers = { origin, 'access-control-request-method': 'POST' };
  const allowed = (await call('OPTIONS', '/api/posts', undefined, headers)).headers.get('access-control-allow-headers');
  for (const name of [
    'Authorization',
    'Cache-Control',
    'Idempotency-Key',
    'If-Match',
    'If-None-Match',
    'X-Organisation',
  ])
    expect(allowed).toContain(name);
  const exposedHeaders = (await call('GET', '/api/posts', undefined, { origin })).headers.get(
    'access-control-expose-headers',
  );
  for (const name of ['ETag', 'Idempotency-Replayed', 'Retry-After', 'X-Request-Id'])
    expect(exposedHeaders).toContain(name);
});

const body = '{"title":"smuggled"}';
test.each([
  [
    'two different Content-Length headers',
    `Host: x\r\nContent-Type: application/json\r\nContent-Length: 5\r\nContent-Length: ${body.length}`,
  ],
  [
    'Content-Length together with chunked encoding',
    `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nTransfer-Encoding: chunked`,
  ],
  ['a repeated Content-Length header', `Host: x\r\nContent-Length: ${body.length}\r\nContent-Length: ${body.length}`],
  ['a list of values in Content-Length', `Host: x\r\nContent-Length: ${body.length}, ${body.length}`],
  ['another transfer coding before chunked', 'Host: x\r\nTransfer-Encoding: gzip, chunked'],
  ['a Host with a space', `Host: a b\r\nContent-Length: ${body.length}`],
  ['a Host with a path', `Host: a/b\r\nContent-Length: ${body.length}`],
  ['a Host with a query and a user', `Host: c?@\r\nContent-Length: ${body.length}`],
  ['a Host with two ports', `Host: x:1:2\r\nContent-Length: ${body.length}`],
  ['a Content-Length with a sign', `Host: x\r\nContent-Length: +${body.length}`],
  ['chunked that is not the last transfer coding', 'Host: x\r\nTransfer-Encoding: chunked, identity'],
  ['a transfer coding other than chunked', 'Host: x\r\nTransfer-Encoding: gzip'],
  ['no Host header', `Content-Type: application/json\r\nContent-Length: ${body.length}`],
  ['two Host headers', `Host: x\r\nHost: x\r\nContent-Length: ${body.length}`],
  ['a line that is not a header', 'Host: x\r\nnonsense'],
  ['a space before the colon', 'Host: x\r\nX-Odd : 1'],
  ['a header folded over two lines', 'Host: x\r\nX-Odd: 1\r\n 2'],
  ['NUL in a header', 'Host: x\r\nX-Odd: 1\0'],
])('a request with %s gets a single 400 with the error envelope', async (_what, headers) => {
  const authorization = `Authorization: Bearer ${ann.token}\r\nContent-Type: application/json`;
  const before = (await call('GET', '/api/posts?title=smuggled')).body.meta.total;
  const response = await raw(`POST /api/posts HTTP/1.1\r\n${authorization}\r\n${headers}\r\n\r\n${body}`);
  expect(response).toMatch(/^HTTP\/1\.1 400 .*"error":\{"code":"BAD_REQUEST".*"requestId":"[0-9a-f-]{36}"/s);
  expect(response.match(/HTTP\/1\.1/g)).toHaveLength(1);
  expect((await call('GET', '/api/posts?title=smuggled')).body.meta.total).toBe(before);
});

test('malformed bytes after a complete request do not affect the response to that request', async () => {
  const response = await raw('GET /api/pages HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n');
  expect(response).toMatch(/^HTTP\/1\.1 200 .*^Connection: close\r$.*\{"data":/ms);
  expect(response.match(/HTTP\/1\.1/g)).toHaveLength(1);
});

test.each(['x', 'api.example.com:443', '127.0.0.1:80', '[::1]', '[2001:db8::1]:5001', 'x_y', '', 'x:'])(
  'the host %j is well-formed',
  async (host) => {
    expect(await raw(`GET /api/pages HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 200 /,
    );
  },
);

test('HTTP/1.0 requests may not be chunked', async () => {
  const head = `Authorization: Bearer ${ann.token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked`;
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  const ask = (version: string) => raw(`POST /api/posts HTTP/${version}\r\nHost: x\r\n${head}\r\n\r\n${chunks}`);
  expect(await ask('1.0')).toMatch(/^HTTP\/1\.1 400 .*"code":"BAD_REQUEST"/s);
  expect(await ask('1.1')).toMatch(/^HTTP\/1\.1 201 /);
});

test('HTTP/1.0 requires no Host header', async () => {
  expect(await raw('GET /api/pages HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
});

test('an expectation other than 100-continue returns 417 with the error envelope', async () => {
  const ask = (expect: string) =>
    raw(
      `POST /api/posts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann.token}\r\nExpect: ${expect}\r\nContent-Type: application/json\r\nContent-Length: 15\r\nConnection: close\r\n\r\n{"title":"100"}`,
    );
  expect(await ask('magic')).toMatch(/^HTTP\/1\.1 417 .*"error":\{"code":"EXPECTATION_FAILED"/s);
  expect(await ask('100-continue')).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /);
});

test.each([
  ['CONNECT x:443', 400],
  ['TRACE /api/posts', 405],
  ['OPTIONS *', 404],
  ['GET *', 404],
])('%s returns %i with the error envelope', async (start, status) => {
  const response = await raw(`${start} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${status} .*"error":`, 's'));
});

test('a request target with scheme and host is routed by its path, with the same checks', async () => {
  const ask = (target: string) => raw(`GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  expect(await ask('http://evil.example.com/api/pages')).toMatch(/^HTTP\/1\.1 200 /);
  expect(await ask('http://evil.example.com/api/users')).toMatch(/^HTTP\/1\.1 401 /);
  expect(await ask('http://evil.example.com/api/pages?nothing=1')).toMatch(/^HTTP\/1\.1 400 /);
});

test('an Upgrade header is ignored: the request is handled as if it were absent', async () => {
  const upgrade = 'Host: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  expect(await raw(`GET /api/pages HTTP/1.1\r\n${upgrade}`)).toMatch(/^HTTP\/1\.1 200 /);
});

test('the first of two Authorization headers counts', async () => {
  const ask = (first: string, second: string) =>
    raw(
      `GET /api/auth/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${first}\r\nAuthorization: Bearer ${second}\r\nConnection: close\r\n\r\n`,
    );
  expect(await ask(ann.token, 'junk')).toMatch(/^HTTP\/1\.1 200 /);
  expect(await ask('junk', ann.token)).toMatch(/^HTTP\/1\.1 401 /);
});

test('a request line over every limit returns 431, and bytes that are not HTTP return 400, both with the error envelope', async () => {
  const long = await raw(`GET /api/posts?q=${'x'.repeat(70_000)} HTTP/1.1\r\nHost: x\r\n\r\n`);
  expect(long).toMatch(/^HTTP\/1\.1 431 /);
  expect(long).toContain('"error":{"code":"HEADERS_TOO_LARGE"');
  const many = Array.from({ length: 5000 }, (_, i) => `a${i}: 1`).join('\r\n');
  const flood = await raw(`GET /api/posts HTTP/1.1\r\nHost: x\r\n${many}\r\n\r\n`);
  expect(flood).toMatch(/^HTTP\/1\.1 431 .*"error":\{"code":"HEADERS_TOO_LARGE"/s);
  expect(await raw('hello\r\n\r\n')).toMatch(/^HTTP\/1\.1 400 .*"error":/s);
});

test('an interrupted body does not affect the server', async () => {
  await raw(
    `POST /api/posts HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann.token}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{"title"`,
  );
  expect((await call('GET', '/api/posts')).status).toBe(200);
});

test('a client that may not send a body is refused before the body is read', async () => {
  for (const [method, path] of [
    ['POST', '/api/posts'],
    ['PATCH', '/api/posts/0123456789abcdef01234567'],
    ['POST', '/api/users'],
  ]) {
    expect((await call(method!, path!, '{broken')).status).toBe(401);
    expect((await call(method!, path!, 'x', { 'content-type': 'text/plain' })).status).toBe(401);
  }
});

test('the server reports which dependencies are healthy', async () => {
  expect(await call('GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
  const absolute =
    'GET http://api.example.com/healthz?probe=1 HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\n\r\n';
  expect(await raw(absolute)).toContain('{"status":"ok"}');
  const ready = await call('GET', '/readyz');
  expect([ready.status, ready.body]).toEqual([
    200,
    { status: 'ok', checks: { postgres: 'ok', redis: 'ok', migrations: 'ok' } },
  ]);
});
