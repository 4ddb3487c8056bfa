import express from 'express';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ApiError, createApp, defineResource, defineUser, f, softDelete, webhooks } from '../../../../src/index.ts';
import { openDatabase } from '../../../../src/platform/data/postgres/database.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { createIdempotencySweep } from '../../../../src/runtime/http/idempotency/index.ts';
import { type ApiResponse, createClient, startTestApp } from '../../../support/app.ts';
import { countStatements } from '../../../support/database/sent-statements.ts';
import { createTestDatabase } from '../../../support/database/test-database.ts';
import { createRoleEnv, startBlog } from '../../../support/processes/app-process.ts';

const ran: string[] = [];
let gate: Promise<void> | undefined;
let failing = false;
let hiding: Error | undefined;

const post = defineResource('post', {
  fields: {
    title: f.string().required().max(50),
    slug: f.string().unique(),
    secret: f.string().visibleTo('editor'),
    anything: f.json(),
    author: f.ref('user').owner(),
  },
  policies: { list: 'public', read: 'public', create: 'authenticated', update: 'owner' },
  routes: (route) => [
    route.post('/pay', { policy: 'authenticated', status: 202 }, async ({ res, query }) => {
      ran.push('pay');
      await gate;
      if (failing) throw new Error('down');
      if (query.refuse !== undefined) throw new ApiError('CONFLICT', 'Declined', { details: { card: 'Is empty' } });
      if (query.wrong !== undefined) throw new ApiError('VALIDATION_ERROR', 'Wrong');
      res.setHeader('Location', '/api/posts/1');
      return { receipt: ran.length };
    }),
    route.post('/silent', { policy: 'authenticated' }, () => void ran.push('silent')),
    route.post('/self', { policy: 'authenticated' }, ({ res }) => {
      ran.push('self');
      res.status(200).json({ by: 'itself' });
    }),
    route.post('/large', { policy: 'authenticated' }, () => {
      ran.push('large');
      return 'x'.repeat(2 ** 20);
    }),
    route.post('/busy', { policy: 'authenticated' }, () => {
      ran.push('busy');
      throw new ApiError('CONFLICT', 'Come again', { retryAfter: 1 });
    }),
    route.post('/parsed', { policy: 'authenticated', middleware: [express.json(), express.raw()] }, ({ req }) => {
      ran.push('parsed');
      return String(req.body.n ?? req.body);
    }),
    route.post('/:id/consume', { policy: 'public' }, async ({ doc, service }) => {
      ran.push(`consume ${doc.id}`);
      await service('post').delete(doc.id);
      return { consumed: doc.id };
    }),
    route.post('/each', { policy: 'authenticated', idempotent: false }, () => ran.push('each')),
    route.post('/:id/like', { policy: 'authenticated' }, ({ doc }) => {
      ran.push(`like ${doc.id}`);
      return doc;
    }),
    route.patch('/:id/rename', { policy: 'owner' }, ({ doc, service }) => {
      ran.push('rename');
      return service('post').update(doc.id, { title: 'renamed' });
    }),
  ],
});
const note = defineResource('note', { fields: { text: f.string() }, policies: { create: 'editor', read: 'editor' } });
const slip = defineResource('slip', { fields: { text: f.string() }, policies: { create: 'public', read: 'admin' } });
const draft = defineResource('draft', {
  fields: { text: f.string(), author: f.ref('user').owner() },
  policies: { create: 'authenticated', read: 'owner' },
  routes: (route) => [route.post('/:id/stamp', { policy: 'owner' }, () => 'stamped')],
});
const late = defineResource('late', {
  fields: {
    text: f.string().visibleTo(() => {
      if (hiding !== undefined) throw hiding;
      return true;
    }),
  },
  policies: { create: 'public', read: 'public', delete: 'public' },
  softDelete: true,
});

const { app, call, person, env, url } = await startTestApp(
  {
    resources: [defineUser({ roles: ['user', 'admin', 'editor'] }), post, note, slip, draft, late],
    extensions: [softDelete(), webhooks()],
  },
  // Without a relay, events stay in the outbox, where they can be counted.
  { env: () => ({ TRUST_PROXY: 'loopback' }) },
);
const ann = await person('Ann');
const bob = await person('Bob');
const ed = await person('Ed', ['user', 'editor']);

const created: string[] = [];
app.on<{ record: { id: string } }>('post.created', ({ record }) => void created.push(record.id));

let database: pg.Client;
beforeAll(async () => {
  database = new pg.Client({ connectionString: env.DATABASE_URL });
  await database.connect();
});
afterAll(() => database.end());

let keys = 0;
const newKey = () => `key-${++keys}`;
const withKey = (key: string) => ({ 'idempotency-key': key });
const codeOf = (response: ApiResponse) => [response.status, response.body?.error?.code];
const replayed = (response: ApiResponse) => response.headers.get('idempotency-replayed');
const times = (name: string) => ran.filter((one) => one === name).length;

/** The stored keys, oldest first. */
async function rows(): Promise<{ id: string; status: number | null; answer: string | null; record_id: string }[]> {
  return (await database.query('select * from idempotency_keys order by created_at, id')).rows;
}

test('a create repeated with its key gets the first response again and creates no second record', async () => {
  const key = newKey();
  const first = await ann.call('POST', '/api/posts', { title: 'Once' }, withKey(key));
  expect([first.status, replayed(first)]).toEqual([201, null]);
  await ann.call('PATCH', `/api/posts/${first.body.data.id}`, { title: 'Changed since' });
  const again = await ann.call('POST', '/api/posts', { title: 'Once' }, withKey(key));
  expect([again.status, again.body, replayed(again)]).toEqual([201, first.body, 'true']);
  for (const name of ['etag', 'content-type', 'content-length', 'cache-control', 'vary']) {
    expect(again.headers.get(name)).toBe(first.headers.get(name));
  }
  expect(created.filter((id) => id === first.body.data.id)).toHaveLength(1);
});

test('without a key every create creates a record, and no key is stored', async () => {
  const before = (await rows()).length;
  const [one, two] = [
    await ann.call('POST', '/api/posts', { title: 'x' }),
    await ann.call('POST', '/api/posts', { title: 'x' }),
  ];
  expect(one.body.data.id).not.toBe(two.body.data.id);
  expect(await rows()).toHaveLength(before);
});

test('a key costs two additional SQL statements, and a request without a key costs none', async () => {
  const sent = countStatements();
  const count = async (headers?: Record<string, string>) => {
    expect((await ann.call('POST', '/api/posts', { title: 'x' }, headers)).status).toBe(201);
    return sent.count();
  };
  // One statement for the session, one for the record with its event.
  expect([await count(), await count(withKey(newKey()))]).toEqual([2, 4]);
  sent.stop();
});

test('50 concurrent creates with one key create one record and one event, and all get the same response', async () => {
  const key = newKey();
  const responses = await Promise.all(
    Array.from({ length: 50 }, () => ann.call('POST', '/api/posts', { title: 'Fifty' }, withKey(key))),
  );
  expect(responses.map((response) => response.status)).toEqual(Array(50).fill(201));
  const ids = new Set(responses.map((response) => JSON.stringify(response.body)));
  expect(ids.size).toBe(1);
  const { data } = responses[0]!.body;
  expect((await database.query(`select 1 from posts where title = 'Fifty'`)).rowCount).toBe(1);
  expect(created.filter((id) => id === data.id)).toHaveLength(1);
  const events = await database.query(`select 1 from outbox where name = 'post.created' and record_id = $1`, [data.id]);
  expect(events.rowCount).toBe(1);
  expect(responses.filter((response) => replayed(response) === null)).toHaveLength(1);
  expect(new Set(responses.map((response) => response.headers.get('etag'))).size).toBe(1);
});

test('a custom route repeated with its key runs once, and its status and headers are replayed', async () => {
  const key = newKey();
  const before = times('pay');
  const first = await ann.call('POST', '/api/posts/pay', undefined, withKey(key));
  const again = await ann.call('POST', '/api/posts/pay', undefined, withKey(key));
  expect([first.status, again.status, again.body]).toEqual([202, 202, first.body]);
  expect([again.headers.get('location'), replayed(again)]).toEqual(['/api/posts/1', 'true']);
  expect(times('pay')).toBe(before + 1);
});

test('a custom route runs once for 20 concurrent requests with one key', async () => {
  const key = newKey();
  const before = times('pay');
  const open = Promise.withResolvers<void>();
  gate = open.promise;
  const all = Array.from({ length: 20 }, () => ann.call('POST', '/api/posts/pay', undefined, withKey(key)));
  await vi.waitUntil(() => times('pay') > before, { timeout: 60_000, interval: 20 });
  open.resolve();
  gate = undefined;
  const responses = await Promise.all(all);
  expect(new Set(responses.map((response) => JSON.stringify([response.status, response.body]))).size).toBe(1);
  expect(times('pay')).toBe(before + 1);
});

test('a response without a body is replayed', async () => {
  const key = newKey();
  const before = times('silent');
  for (let n = 0; n < 3; n++)
    expect((await ann.call('POST', '/api/posts/silent', undefined, withKey(key))).status).toBe(204);
  expect(times('silent')).toBe(before + 1);
});

test.each([
  ['a body', () => ann.call('POST', '/api/posts', { title: 'Other' }, withKey('reused'))],
  ['a query', () => ann.call('POST', '/api/posts?x=1', { title: 'First' }, withKey('reused'))],
  ['no body', () => ann.call('POST', '/api/posts', undefined, withKey('reused'))],
])('%s: a different request that reuses a key returns 422 IDEMPOTENCY_KEY_REUSED', async (_what, act) => {
  const { status } = await ann.call('POST', '/api/posts', { title: 'First' }, withKey('reused'));
  expect(status).toBe(201);
  const response = await act();
  expect([codeOf(response), response.body.error.details]).toEqual([
    [422, 'IDEMPOTENCY_KEY_REUSED'],
    { 'Idempotency-Key': 'Was used with a different request' },
  ]);
});

test('a key belongs to one user, one route and one record; anywhere else it is another key', async () => {
  const key = newKey();
  const headers = withKey(key);
  const mine = await ann.call('POST', '/api/posts', { title: 'Same' }, headers);
  const his = await bob.call('POST', '/api/posts', { title: 'Same' }, headers);
  const slips = await Promise.all([call, ann.call].map((one) => one('POST', '/api/slips', { text: 'x' }, headers)));
  expect(new Set([mine, his, ...slips].map((response) => response.body.data.id)).size).toBe(4);
  const [a, b] = [mine.body.data.id, his.body.data.id];
  for (const id of [a, b, a]) await ann.call('POST', `/api/posts/${id}/like`, undefined, headers);
  expect([times(`like ${a}`), times(`like ${b}`)]).toEqual([1, 1]);
});

test('the keys of signed-out clients belong to their address', async () => {
  const key = newKey();
  const first = await call('POST', '/api/slips', { text: 'x' }, withKey(key));
  const again = await call('POST', '/api/slips', { text: 'x' }, withKey(key));
  expect([again.body, replayed(again)]).toEqual([first.body, 'true']);
});

test('an address is recognized in every notation: with a port, in any case, IPv4 in IPv6, and by the network of an IPv6 client', async () => {
  const from = (address: string, key: string) =>
    call('POST', '/api/slips', { text: 'x' }, { ...withKey(key), 'x-forwarded-for': address });
  for (const spellings of [
    ['203.0.113.7', '203.0.113.7:4711', '::ffff:203.0.113.7', '[::ffff:cb00:7107]:80'],
    ['2001:db8::7', '2001:DB8:0:0::7', '[2001:db8::7]:4711', '2001:db8::8'],
  ]) {
    const key = newKey();
    const ids = new Set<string>();
    for (const address of spellings) ids.add((await from(address, key)).body.data.id);
    expect(ids.size).toBe(1);
    expect(ids).not.toContain((await from('198.51.100.1', key)).body.data.id);
  }
});

test('the order of object members and of query parameters does not matter; the order of array items does', async () => {
  const key = newKey();
  const act = (text: string, query = '?a=1&b=2') =>
    ann.call('POST', `/api/posts${query}`, text, { ...withKey(key), 'content-type': 'application/json' });
  const first = await act('{"title":"Order","anything":{"a":[1,{"x":1,"y":2}],"b":2}}');
  const again = await act('{ "anything": {"b":2.0,"a":[1,{"y":2,"x":1}]}, "title": "Order" }', '?b=2&a=1');
  expect([first.status, again.body, replayed(again)]).toEqual([201, first.body, 'true']);
  const other = await act('{"title":"Order","anything":{"a":[{"x":1,"y":2},1],"b":2}}');
  expect(codeOf(other)).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
});

test.each([
  ['application/json', '{"n":1}', '{"n":2}'],
  ['application/octet-stream', 'one', 'two'],
])('a body of type %s that middleware has parsed is compared too', async (type, one, two) => {
  const key = newKey();
  const act = (text: string) => ann.call('POST', '/api/posts/parsed', text, { ...withKey(key), 'content-type': type });
  const first = await act(one);
  expect(first.status).toBe(200);
  expect((await act(one)).body).toEqual(first.body);
  expect(codeOf(await act(two))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
});

test.each([
  ['that was not read', '/api/posts/pay', 'text/plain'],
  ['that middleware did not parse', '/api/posts/parsed', 'text/plain'],
  ['with files', '/api/posts/parsed', 'multipart/form-data; boundary=x'],
])('a body %s cannot be compared: with a key it returns 400, and nothing runs', async (_what, path, type) => {
  const before = ran.length;
  const sent = { ...withKey(newKey()), 'content-type': type };
  expect(codeOf(await ann.call('POST', path, '{"n":1}', sent))).toEqual([400, 'BAD_REQUEST']);
  expect(ran).toHaveLength(before);
});

test.each([
  ['a', 201],
  ['x'.repeat(255), 201],
  [`!#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~`, 201],
  ['"quoted with spaces"', 201],
  ['"with \\" and \\\\"', 201],
  ['x'.repeat(256), 400],
  [`"${'x'.repeat(256)}"`, 400],
  ['', 400],
  ['""', 400],
  ['"', 400],
  ['"open', 400],
  ['"a" "b"', 400],
  ['"a", "b"', 400],
  ['a b', 400],
  ['a, b', 400],
  ['"a\\b"', 400],
  ['"a"b', 400],
  ['\u00e4', 400],
  ['"a";p=1', 400],
])('the key %s returns %i', async (key, status) => {
  const response = await ann.call('POST', '/api/posts', { title: 'key' }, withKey(key));
  expect(codeOf(response)).toEqual([status, status === 400 ? 'BAD_REQUEST' : undefined]);
});

test('a quoted key equals the same key without quotes', async () => {
  const first = await ann.call('POST', '/api/posts', { title: 'x' }, withKey('"same-key"'));
  const again = await ann.call('POST', '/api/posts', { title: 'x' }, withKey('same-key'));
  expect(again.body).toEqual(first.body);
});

test('a request refused because of its content releases its key for any later request', async () => {
  const key = newKey();
  expect(codeOf(await ann.call('POST', '/api/posts', { title: '' }, withKey(key)))).toEqual([422, 'VALIDATION_ERROR']);
  expect(codeOf(await ann.call('POST', '/api/posts', { title: '' }, withKey(key)))).toEqual([422, 'VALIDATION_ERROR']);
  const right = await ann.call('POST', '/api/posts', { title: 'Right' }, withKey(key));
  expect([right.status, replayed(right)]).toEqual([201, null]);
  expect((await ann.call('POST', '/api/posts', { title: 'Right' }, withKey(key))).body).toEqual(right.body);
  expect(codeOf(await ann.call('POST', '/api/posts', { title: '' }, withKey(key)))).toEqual([
    422,
    'IDEMPOTENCY_KEY_REUSED',
  ]);
});

test('a create refused as a duplicate releases its key', async () => {
  const key = newKey();
  const taken = await ann.call('POST', '/api/posts', { title: 'x', slug: 'taken' });
  expect((await ann.call('POST', '/api/posts', { title: 'x', slug: 'taken' }, withKey(key))).status).toBe(409);
  await app.service('post').delete(taken.body.data.id);
  expect((await ann.call('POST', '/api/posts', { title: 'x', slug: 'taken' }, withKey(key))).status).toBe(201);
});

test('a create that fails after storing its record keeps its key: the same body gets the record, a different body gets 422', async () => {
  const key = newKey();
  const act = (text: string) => call('POST', '/api/lates', { text }, withKey(key));
  hiding = Object.assign(new Error('the database is away'), { code: '57P01' });
  expect([(await act('first')).status, (await act('first')).status]).toEqual([503, 503]);
  hiding = undefined;
  expect(codeOf(await act('corrected'))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
  const again = await act('first');
  expect([again.status, again.body.data.text, replayed(again)]).toEqual([201, 'first', 'true']);
  expect((await database.query('select 1 from lates')).rowCount).toBe(1);
});

test('a create whose record was deleted before the repetition returns that record and creates no other', async () => {
  const key = newKey();
  const act = () => call('POST', '/api/lates', { text: 'deleted' }, withKey(key));
  hiding = Object.assign(new Error('the database is away'), { code: '57P01' });
  expect((await act()).status).toBe(503);
  hiding = undefined;
  const { rows } = await database.query(`select id from lates where text = 'deleted'`);
  await app.service('late').delete(rows[0].id);
  const again = await act();
  expect([again.status, again.body.data.id, again.body.data.text]).toEqual([201, rows[0].id, 'deleted']);
  expect((await database.query(`select 1 from lates where text = 'deleted'`)).rowCount).toBe(0);
});

test('a route that deletes its record replays its response to the same user and to no other client', async () => {
  const { id } = (await ann.call('POST', '/api/posts', { title: 'Consumed' })).body.data;
  const headers = withKey(newKey());
  const path = `/api/posts/${id}/consume`;
  const first = await ann.call('POST', path, undefined, headers);
  const again = await ann.call('POST', path, undefined, headers);
  expect([first.status, again.status, again.body, replayed(again)]).toEqual([200, 200, first.body, 'true']);
  expect(times(`consume ${id}`)).toBe(1);
  const others = [
    bob.call('POST', path, undefined, headers),
    call('POST', path, undefined, headers),
    ann.call('POST', path),
    ann.call('POST', path, undefined, withKey(newKey())),
    ann.call('POST', `/api/posts/${'0'.repeat(24)}/consume`, undefined, headers),
    ann.call('POST', `/api/posts/${id}/like`, undefined, headers),
  ];
  for (const other of await Promise.all(others)) expect(codeOf(other)).toEqual([404, 'NOT_FOUND']);
  expect(codeOf(await ann.call('POST', `${path}?x=1`, undefined, headers))).toEqual([422, 'IDEMPOTENCY_KEY_REUSED']);
  await ann.call('POST', '/api/auth/logout');
  expect((await ann.call('POST', path, undefined, headers)).status).toBe(401);
  const { email } = ann;
  const { token } = (await call('POST', '/api/auth/login', { email, password: 'correct horse battery' })).body.data;
  Object.assign(ann, { token, call: createClient(url, token) });
  expect((await ann.call('POST', path, undefined, headers)).body).toEqual(first.body);
});

test('a record that still exists but is no longer visible to the client returns 404 to a repetition', async () => {
  const { id } = (await ann.call('POST', '/api/drafts', { text: 'x' })).body.data;
  const headers = withKey(newKey());
  const path = `/api/drafts/${id}/stamp`;
  expect((await ann.call('POST', path, undefined, headers)).status).toBe(200);
  await database.query('update drafts set author = $2 where id = $1', [id, bob.id]);
  expect(codeOf(await ann.call('POST', path, undefined, headers))).toEqual([404, 'NOT_FOUND']);
});

test('a response with Retry-After is not stored', async () => {
  const key = newKey();
  const before = times('busy');
  for (let n = 0; n < 2; n++) {
    const response = await ann.call('POST', '/api/posts/busy', undefined, withKey(key));
    expect([response.status, response.headers.get('retry-after'), replayed(response)]).toEqual([409, '1', null]);
  }
  expect(times('busy')).toBe(before + 2);
});

test('an error response of a custom route is stored and replayed, with the request id of the repeated request', async () => {
  const key = newKey();
  const before = times('pay');
  const first = await ann.call('POST', '/api/posts/pay?refuse', undefined, withKey(key));
  const again = await ann.call('POST', '/api/posts/pay?refuse', undefined, withKey(key));
  expect([codeOf(again), again.body.error.details, replayed(again)]).toEqual([
    codeOf(first),
    { card: 'Is empty' },
    'true',
  ]);
  expect(again.body.error.requestId).toBe(again.headers.get('x-request-id'));
  expect(times('pay')).toBe(before + 1);
});

test('a 422 of a custom route is not stored', async () => {
  const key = newKey();
  const before = times('pay');
  for (let n = 0; n < 2; n++) {
    expect((await ann.call('POST', '/api/posts/pay?wrong', undefined, withKey(key))).status).toBe(422);
  }
  expect(times('pay')).toBe(before + 2);
  expect((await ann.call('POST', '/api/posts/pay', undefined, withKey(key))).status).toBe(202);
});

test('an internal error is not stored: the same request runs again at once, and a different request is still refused', async () => {
  const key = newKey();
  failing = true;
  expect((await ann.call('POST', '/api/posts/pay', undefined, withKey(key))).status).toBe(500);
  failing = false;
  expect(codeOf(await ann.call('POST', '/api/posts/pay?other', undefined, withKey(key)))).toEqual([
    422,
    'IDEMPOTENCY_KEY_REUSED',
  ]);
  const again = await ann.call('POST', '/api/posts/pay', undefined, withKey(key));
  expect([again.status, replayed(again)]).toEqual([202, null]);
});

test('authorization is checked each time: a client never gets a response that it could not get now', async () => {
  const key = newKey();
  const act = () => ed.call('POST', '/api/notes', { text: 'x' }, withKey(key));
  const first = await act();
  expect(first.status).toBe(201);
  await app.service('user').update(ed.id, { roles: ['user'] });
  const refused = await act();
  expect([codeOf(refused), replayed(refused)]).toEqual([[403, 'FORBIDDEN'], null]);
  await app.service('user').update(ed.id, { roles: ['user', 'editor'] });
  expect((await act()).body).toEqual(first.body);
  await ed.call('POST', '/api/auth/logout');
  expect((await act()).status).toBe(401);
  expect((await call('POST', '/api/notes', { text: 'x' }, withKey(key))).status).toBe(401);
});

test('a user who lost a role does not get the response that they got while they had it', async () => {
  const key = newKey();
  const eve = await person('Eve', ['user', 'editor']);
  const act = () => eve.call('POST', '/api/posts', { title: 'x', secret: 'for editors' }, withKey(key));
  expect((await act()).body.data.secret).toBe('for editors');
  await app.service('user').update(eve.id, { roles: ['user'] });
  const response = await act();
  expect([codeOf(response), JSON.stringify(response.body)]).toEqual([
    [403, 'FORBIDDEN'],
    expect.not.stringContaining('for editors'),
  ]);
  await app.service('user').update(eve.id, { roles: ['user', 'editor', 'admin'] });
  expect((await act()).body.data.secret).toBe('for editors');
});

test('authorization errors are not stored: a refused user can succeed later with the same key', async () => {
  const key = newKey();
  const tim = await person('Tim');
  expect((await tim.call('POST', '/api/notes', { text: 'x' }, withKey(key))).status).toBe(403);
  await app.service('user').update(tim.id, { roles: ['user', 'editor'] });
  expect((await tim.call('POST', '/api/notes', { text: 'x' }, withKey(key))).status).toBe(201);
});

test('responses are stored encrypted, and neither key, body nor address is stored in plain text', async () => {
  const key = 'an-easy-key-to-find';
  await ann.call('POST', '/api/posts', { title: 'a very secret title' }, withKey(key));
  const text = JSON.stringify(await rows());
  for (const word of ['a very secret title', key, ann.id, '127.0.0.1']) expect(text).not.toContain(word);
  expect((await rows()).at(-1)!.answer).toMatch(/^v1\./);
});

test.each([
  ['an account', 'POST', '/api/auth/login', () => ({ email: ann.email, password: 'correct horse battery' })],
  ['a webhook', 'POST', '/api/webhooks', () => ({ url: 'https://example.com/', events: ['*'] })],
  ['a route with idempotent: false', 'POST', '/api/posts/each', () => undefined],
  ['a change', 'PATCH', '/api/auth/me', () => ({ name: 'Ann' })],
])(
  'the key is ignored for requests whose responses contain secrets or that create nothing: %s',
  async (_what, method, path, body) => {
    const before = (await rows()).length;
    const responses = [1, 2].map(() => ann.call(method, path, body(), withKey('passed-over')));
    for (const response of await Promise.all(responses))
      expect([response.status < 300, replayed(response)]).toEqual([true, null]);
    expect(await rows()).toHaveLength(before);
  },
);

test('a handler that writes the response itself runs for each request', async () => {
  const key = newKey();
  const before = times('self');
  for (let n = 0; n < 2; n++) {
    expect((await ann.call('POST', '/api/posts/self', undefined, withKey(key))).body).toEqual({ by: 'itself' });
  }
  expect(times('self')).toBe(before + 2);
});

test('a response too large to store is returned once; repetitions get 409, and the handler does not run again', async () => {
  const key = newKey();
  const before = times('large');
  expect((await ann.call('POST', '/api/posts/large', undefined, withKey(key))).status).toBe(200);
  expect(codeOf(await ann.call('POST', '/api/posts/large', undefined, withKey(key)))).toEqual([409, 'CONFLICT']);
  expect(times('large')).toBe(before + 1);
});

test('a repeated request with If-Match gets its first response, even though that request changed the record', async () => {
  const { body, headers } = await ann.call('POST', '/api/posts', { title: 'x' });
  const asks = { ...withKey(newKey()), 'if-match': headers.get('etag')! };
  const path = `/api/posts/${body.data.id}/like`;
  const first = await ann.call('POST', path, undefined, asks);
  await ann.call('PATCH', `/api/posts/${body.data.id}`, { title: 'y' });
  const again = await ann.call('POST', path, undefined, asks);
  expect([first.status, again.status, again.body]).toEqual([200, 200, first.body]);
  expect((await ann.call('POST', path, undefined, { ...asks, ...withKey(newKey()) })).status).toBe(412);
});

test('a key can be reused after 24 hours, whether or not it was swept; the sweep removes only expired keys', async () => {
  const [old, young] = [newKey(), newKey()];
  const first = await ann.call('POST', '/api/posts', { title: 'Old' }, withKey(old));
  await ann.call('POST', '/api/posts', { title: 'Young' }, withKey(young));
  const age = (id: string, by: string) =>
    database.query(`update idempotency_keys set created_at = now() - $2::interval where record_id = $1`, [id, by]);
  await age(first.body.data.id, '24 hours');
  const anew = await ann.call('POST', '/api/posts', { title: 'Another' }, withKey(old));
  expect([anew.status, replayed(anew)]).toEqual([201, null]);
  expect((await ann.call('POST', '/api/posts', { title: 'Another' }, withKey(old))).body).toEqual(anew.body);
  await age(anew.body.data.id, '24 hours');
  const before = await rows();
  const relays = openDatabase(env.DATABASE_URL!, 'relay', createLogger('silent', 'test'));
  await createIdempotencySweep(relays).run();
  await relays.close();
  const left = (await rows()).map((row) => row.record_id);
  expect(left).toHaveLength(before.length - 1);
  expect(left).not.toContain(anew.body.data.id);
});

// Concurrent, because each test waits for seconds.
describe.concurrent('when the first response is missing', () => {
  test('a repetition that waits too long for the first request gets 409 with Retry-After', {
    timeout: 240_000,
  }, async () => {
    const key = newKey();
    const before = times('pay');
    const open = Promise.withResolvers<void>();
    gate = open.promise;
    const first = ann.call('POST', '/api/posts/pay', undefined, withKey(key));
    await vi.waitUntil(() => times('pay') > before, { timeout: 60_000, interval: 20 });
    const late = await ann.call('POST', '/api/posts/pay', undefined, withKey(key));
    expect([codeOf(late), late.headers.get('retry-after'), replayed(late)]).toEqual([[409, 'CONFLICT'], '5', null]);
    open.resolve();
    gate = undefined;
    expect((await first).status).toBe(202);
    expect((await ann.call('POST', '/api/posts/pay', undefined, withKey(key))).body).toEqual((await first).body);
  });

  test('a request whose process died is taken over when its lease expires; a create then finds its record', async () => {
    const key = newKey();
    const first = await ann.call('POST', '/api/posts', { title: 'Found' }, withKey(key));
    const { id } = first.body.data;
    const forget = (until: string) =>
      database.query(
        `update idempotency_keys set status = null, answer = null, claimed_until = now() + $2::interval where record_id = $1`,
        [id, until],
      );
    await forget('0');
    const again = await ann.call('POST', '/api/posts', { title: 'Found' }, withKey(key));
    expect([again.status, again.body, replayed(again)]).toEqual([201, first.body, 'true']);
    expect(
      (await database.query('select answer from idempotency_keys where record_id = $1', [id])).rows[0].answer,
    ).not.toBeNull();
    // If the record exists, the lease is not waited for.
    await forget('1 hour');
    const waited = await ann.call('POST', '/api/posts', { title: 'Found' }, withKey(key));
    expect([waited.status, waited.body, replayed(waited)]).toEqual([201, first.body, 'true']);
    expect((await database.query(`select 1 from posts where title = 'Found'`)).rowCount).toBe(1);
  }, 240_000);
});

test('a response that cannot be stored is still returned; when repeated, the create finds its record', async () => {
  const key = newKey();
  const act = () => ann.call('POST', '/api/posts', { title: 'Unnoted' }, withKey(key));
  await database.query(
    `create function refuse() returns trigger language plpgsql as 'begin raise exception ''full''; end'`,
  );
  await database.query(
    'create trigger refuse before update on idempotency_keys for each row execute function refuse()',
  );
  const first = await act();
  await database.query('drop function refuse cascade');
  const again = await act();
  expect([first.status, again.status, again.body, replayed(again)]).toEqual([201, 201, first.body, 'true']);
}, 240_000);

test('an `idempotent` option on a route other than POST, or with an unknown value, is a configuration error', () => {
  const mistaken = defineResource('mistaken', {
    fields: {},
    routes: (route) => [
      route.get('/a', { idempotent: true }, () => 1),
      route.post('/b', { idempotent: 'create' as never }, () => 1),
    ],
  });
  const make = () => createApp({ resources: [mistaken] }, env);
  expect(make).toThrow('route GET /mistakens/a: idempotent: must be true or false, and is allowed only on POST routes');
  expect(make).toThrow('route POST /mistakens/b: idempotent: must be true or false, and is allowed only on POST');
});

test('when a lease expires, one of 20 concurrent repetitions takes it over', async () => {
  const key = newKey();
  await ann.call('POST', '/api/posts/pay', undefined, withKey(key));
  const before = times('pay');
  await database.query(
    `update idempotency_keys set status = null, answer = null, claimed_until = now() - make_interval(secs => 1) where id = (select id from idempotency_keys order by created_at desc limit 1)`,
  );
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => ann.call('POST', '/api/posts/pay', undefined, withKey(key))),
  );
  expect(new Set(responses.map((response) => JSON.stringify(response.body))).size).toBe(1);
  expect(times('pay')).toBe(before + 1);
});

test('a create that died before storing its record stores it when repeated, with the reserved id', async () => {
  const key = newKey();
  const { body } = await ann.call('POST', '/api/posts', { title: 'Late' }, withKey(key));
  await database.query('delete from posts where id = $1', [body.data.id]);
  await database.query(
    'update idempotency_keys set status = null, answer = null, claimed_until = now() - make_interval(secs => 1) where record_id = $1',
    [body.data.id],
  );
  const again = await ann.call('POST', '/api/posts', { title: 'Late' }, withKey(key));
  expect([again.status, again.body.data.id, replayed(again)]).toEqual([201, body.data.id, null]);
});

test('when web is killed between record and response, a repetition at another process returns that one record', {
  timeout: 240_000,
}, async () => {
  const own = await createTestDatabase();
  onTestFinished(() => own.drop());
  const clients = await Promise.all(
    [1, 2, 3].map(async () => {
      const client = new pg.Client({ connectionString: own.databaseUrl });
      await client.connect();
      onTestFinished(() => client.end());
      return client;
    }),
  );
  const [watch, gate, hold] = clients as [pg.Client, pg.Client, pg.Client];
  const count = async (sql: string) => (await watch.query(sql)).rowCount!;
  const web = async () => {
    const process = startBlog('web', createRoleEnv(own));
    return { ...process, url: await process.url() };
  };
  const first = await web();
  const account = { name: 'Ada', email: 'ada@example.com', password: 'a bell rings at noon' };
  const { token } = (await createClient(first.url)('POST', '/api/auth/register', account)).body.data;
  const create = (url: string) =>
    createClient(url, token)('POST', '/api/posts', { title: 'Killed' }, withKey('killed'));
  const patience = { timeout: 60_000, interval: 10 };

  // Lock the posts table until the key is stored, then lock the row of the key, so that the record is stored and its response is not.
  await gate.query('begin; lock table posts in share mode');
  const broken = create(first.url).catch(() => 'broken off');
  await vi.waitUntil(async () => (await count('select 1 from idempotency_keys')) === 1, patience);
  await hold.query('begin; select 1 from idempotency_keys for update');
  await gate.query('rollback');
  const stuck = `from pg_stat_activity where wait_event_type = 'Lock' and query like 'update idempotency_keys%'`;
  await vi.waitUntil(async () => (await count(`select 1 ${stuck}`)) === 1, patience);
  first.child.kill('SIGKILL');
  await first.ended;
  // The last statement of the dead process must not be executed after all.
  await watch.query(`select pg_terminate_backend(pid) ${stuck}`);
  await vi.waitUntil(async () => (await count(`select 1 ${stuck}`)) === 0, patience);
  await hold.query('rollback');
  expect(await broken).toBe('broken off');
  expect(await count('select 1 from idempotency_keys where status is null')).toBe(1);

  const second = await web();
  const response = await create(second.url);
  expect([response.status, response.body.data.title, replayed(response)]).toEqual([201, 'Killed', 'true']);
  expect(await count(`select 1 from posts where id = '${response.body.data.id}'`)).toBe(1);
  expect(await count('select 1 from posts')).toBe(1);
  expect(await count(`select 1 from outbox where name = 'post.created'`)).toBe(1);
  second.child.kill('SIGTERM');
  expect(await second.ended).toBe(0);
});

test('a create is repeated only to a client that may still read its record', async () => {
  const key = newKey();
  const send = (client = ann.call) => client('POST', '/api/drafts', { text: 'mine' }, withKey(key));
  const { id } = (await send()).body.data;
  expect(replayed(await send())).toBe('true');
  await database.query('update drafts set author = $2 where id = $1', [id, bob.id]);
  expect(codeOf(await send())).toEqual([404, 'NOT_FOUND']);
  await database.query('update drafts set author = $2 where id = $1', [id, ann.id]);
  expect((await send()).body.data.id).toBe(id);
});
