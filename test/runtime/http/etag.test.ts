import pg from 'pg';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineResource, defineUser, f, webhooks } from '../../../src/index.ts';
import { type ApiResponse, type Client, startTestApp } from '../../support/app.ts';
import { countStatements } from '../../support/database/sent-statements.ts';

const hooked: string[] = [];
const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const post = defineResource('post', {
  fields: {
    title: f.string().required().max(50).filterable(),
    note: f.string().visibleTo('owner'),
    from: f.integer().check((value, record) => value <= ((record.to as number | undefined) ?? 100) || 'Too late'),
    to: f.integer(),
    author: f.ref('user').owner(),
  },
  policies: { list: 'public', read: 'public', create: 'authenticated', update: 'owner', delete: 'owner' },
  routes: (route) => [
    route.get('/none', { policy: 'public' }, () => undefined),
    route.get('/shared', { policy: 'public' }, ({ res }) => {
      res.setHeader('Cache-Control', 'public, max-age=60');
      return ['shared'];
    }),
    route.get('/secret', { policy: 'public' }, ({ res }) => {
      res.setHeader('Cache-Control', 'no-store');
      return ['secret'];
    }),
    route.get('/:id/card', { policy: 'public' }, ({ doc }) => doc),
    route.post('/:id/shout', { policy: 'owner' }, ({ doc, service }) =>
      service('post').update(doc.id, { title: doc.title.toUpperCase() }, { ifMatch: doc.updatedAt }),
    ),
    route.post('/:id/rename', { policy: 'owner', input: z.object({ title: z.string() }) }, () => ({ done: true })),
    route.post('/announce', { policy: 'authenticated' }, () => ({ done: true })),
  ],
});
const secret = defineResource('secret', {
  fields: { text: f.string(), author: f.ref('user').owner() },
  policies: { list: 'owner', read: 'owner', create: 'authenticated', update: 'owner', delete: 'owner' },
});
const shy = defineResource('shy', { fields: { text: f.string() }, policies: { ...open, read: 'admin' } });
const watched = defineResource('watched', {
  fields: { text: f.string() },
  policies: { ...open, update: ({ doc }) => doc.text !== 'closed' },
  hooks: {
    beforeUpdate: (_changes, record) => void hooked.push(`update ${record.text}`),
    beforeDelete: (record) => void hooked.push(`delete ${record.text}`),
  },
});
const timeless = defineResource('timeless', {
  timestamps: false,
  fields: {
    text: f.string(),
    list: f.array(f.string()),
    objects: f.array(f.object({ n: f.integer() })),
    anything: f.json(),
    sealed: f.string().encrypted(),
    pin: f.string().hidden(),
    code: f.string().writeOnly(),
    when: f.date(),
    amount: f.number(),
  },
  policies: open,
});

const { app, call, person, env } = await startTestApp(
  {
    resources: [defineUser(), post, secret, shy, watched, timeless],
    extensions: [webhooks()],
  },
  { env: () => ({ CORS_ORIGINS: 'https://app.example.com' }) },
);
const ann = await person('Ann');
const bob = await person('Bob');

const tagOf = (response: ApiResponse) => response.headers.get('etag')!;
const codeOf = (response: ApiResponse) => [response.status, response.body?.error?.code];

async function newPost(title = 'A title'): Promise<{ path: string; tag: string }> {
  const made = await ann.call('POST', '/api/posts', { title, note: 'mine' });
  return { path: `/api/posts/${made.body.data.id}`, tag: tagOf(made) };
}

const { path } = await newPost('Read me');

test.each([
  ['a record', path],
  ['a list', '/api/posts'],
  ['a list that is empty', '/api/posts?title=nothing'],
  ['a custom route', '/api/posts/shared'],
  ['a record of a custom route', `${path}/card`],
])('%s has a strong entity tag; HEAD returns the same headers and no body', async (_what, at) => {
  const get = await call('GET', at);
  const head = await call('HEAD', at);
  expect(tagOf(get)).toMatch(/^"[\x21\x23-\x7e]+"$/);
  for (const name of ['etag', 'cache-control', 'vary', 'content-length', 'content-type']) {
    expect(head.headers.get(name)).toBe(get.headers.get(name));
  }
  expect([head.status, head.body]).toEqual([200, undefined]);
});

test('a response with a tag is private, must be revalidated each time, and varies by viewer', async () => {
  const response = await call('GET', path);
  expect(response.headers.get('cache-control')).toBe('private, no-cache');
  expect(response.headers.get('vary')).toBe('Origin, Authorization');
});

test('caching headers set by a handler are kept', async () => {
  const shared = await call('GET', '/api/posts/shared');
  expect([shared.headers.get('cache-control'), tagOf(shared)]).toEqual(['public, max-age=60', expect.any(String)]);
  const kept = await call('GET', '/api/posts/secret');
  expect([kept.headers.get('cache-control'), tagOf(kept)]).toEqual(['no-store', null]);
});

test.each([
  ['a record of which both see the same fields', `${path}?fields=title`],
  ['a record of which one viewer sees more fields', path],
  ['a list', '/api/posts'],
])('entity tags of %s differ between viewers and stay the same for one viewer', async (_what, at) => {
  const callers: Client[] = [ann.call, bob.call, call];
  const first = await Promise.all(callers.map(async (one) => tagOf(await one('GET', at))));
  const again = await Promise.all(callers.map(async (one) => tagOf(await one('GET', at))));
  expect(new Set(first).size).toBe(3);
  expect(again).toEqual(first);
});

test('the tag returned by a create or an update is the tag of a read right after it', async () => {
  const created = await ann.call('POST', '/api/posts', { title: 'Made', note: 'x' });
  const at = `/api/posts/${created.body.data.id}`;
  expect(tagOf(created)).toBe(tagOf(await ann.call('GET', at)));
  const changed = await ann.call('PATCH', at, { title: 'Changed' });
  expect(tagOf(changed)).toBe(tagOf(await ann.call('GET', at)));
  expect(tagOf(changed)).not.toBe(tagOf(created));
});

test('the response to a PUT has no tag, because the stored representation differs byte for byte from what was sent', async () => {
  const { path: at } = await newPost();
  const response = await ann.call('PUT', at, { title: 'Put' });
  expect([response.status, tagOf(response)]).toEqual([200, null]);
});

test.each(['%s', 'W/%s', '"other", %s', '%s , "other"', '*', '"a,b",,\t%s'])(
  'If-None-Match: %s returns 304 with the same headers and no body',
  async (form) => {
    const full = await ann.call('GET', path);
    const response = await ann.call('GET', path, undefined, { 'if-none-match': form.replace('%s', tagOf(full)) });
    expect([response.status, response.body]).toEqual([304, undefined]);
    for (const name of ['etag', 'cache-control', 'vary']) {
      expect(response.headers.get(name)).toBe(full.headers.get(name));
    }
    const head = await ann.call('HEAD', path, undefined, { 'if-none-match': tagOf(full) });
    expect([head.status, tagOf(head)]).toEqual([304, tagOf(full)]);
  },
);

test.each(['"other"', 'W/"other"', '', 'junk', '"unclosed', '*, "a"', '"a" "b"', "'a'"])(
  'If-None-Match: %s does not match, so the whole response is returned',
  async (header) => {
    expect((await ann.call('GET', path, undefined, { 'if-none-match': header })).status).toBe(200);
  },
);

test('a tag from another viewer, or from before a change, returns the whole response', async () => {
  const { path: at, tag } = await newPost();
  expect((await bob.call('GET', at, undefined, { 'if-none-match': tag })).status).toBe(200);
  await ann.call('PATCH', at, { title: 'New' });
  expect((await ann.call('GET', at, undefined, { 'if-none-match': tag })).status).toBe(200);
});

test('a client gets 304 only if it would otherwise get 200', async () => {
  const made = await ann.call('POST', '/api/secrets', { text: 'mine' });
  const at = `/api/secrets/${made.body.data.id}`;
  for (const header of ['*', tagOf(made)]) {
    const headers = { 'if-none-match': header };
    expect((await ann.call('GET', at, undefined, headers)).status).toBe(304);
    expect((await bob.call('GET', at, undefined, headers)).status).toBe(404);
    expect((await call('GET', at, undefined, headers)).status).toBe(401);
    expect((await call('GET', '/api/secrets', undefined, headers)).status).toBe(401);
    expect((await ann.call('GET', `${at}?fields=nothing`, undefined, headers)).status).toBe(400);
  }
});

test('account responses, responses with secrets or without a body, and errors have no tag', async () => {
  const responses = [
    await ann.call('GET', '/api/auth/me'),
    await ann.call('PATCH', '/api/auth/me', { name: 'Ann' }),
    await call('POST', '/api/auth/login', { email: ann.email, password: 'correct horse battery' }),
    await ann.call('POST', '/api/webhooks', { url: 'https://example.com/', events: ['*'] }),
    await call('GET', '/api/nothing'),
    await call('GET', `/api/secrets/${'0'.repeat(24)}`),
  ];
  for (const response of responses) {
    expect([tagOf(response), response.headers.get('cache-control')]).toEqual([
      null,
      expect.stringContaining('no-store'),
    ]);
  }
  expect(tagOf(await call('GET', '/api/posts/none'))).toBeNull();
});

test('If-Match on a read returns 412 unless the record still has that version', async () => {
  const { path: at, tag } = await newPost();
  expect((await ann.call('GET', at, undefined, { 'if-match': tag })).status).toBe(200);
  expect((await bob.call('GET', at, undefined, { 'if-match': tag })).status).toBe(200);
  expect(codeOf(await ann.call('GET', at, undefined, { 'if-match': `W/${tag}` }))).toEqual([
    412,
    'PRECONDITION_FAILED',
  ]);
  await ann.call('PATCH', at, { title: 'New' });
  const late = await ann.call('GET', at, undefined, { 'if-match': tag });
  expect([codeOf(late), tagOf(late)]).toEqual([[412, 'PRECONDITION_FAILED'], null]);
});

test.each(['PATCH', 'PUT', 'DELETE'])(
  '%s with If-Match of the current version succeeds; with an older version it returns 412',
  async (method) => {
    const { path: at, tag } = await newPost();
    const fresh = tagOf(await ann.call('PATCH', at, { title: 'Newer' }));
    const body = method === 'DELETE' ? undefined : { title: 'Newest' };
    const late = await ann.call(method, at, body, { 'if-match': tag });
    expect(codeOf(late)).toEqual([412, 'PRECONDITION_FAILED']);
    expect((await call('GET', at)).body.data.title).toBe('Newer');
    expect((await ann.call(method, at, body, { 'if-match': fresh })).status).toBe(method === 'DELETE' ? 204 : 200);
  },
);

test.each([
  ['read by another viewer', (at: string) => bob.call('GET', at)],
  ['with selected fields', (at: string) => ann.call('GET', `${at}?fields=title`)],
  ['with its author included', (at: string) => ann.call('GET', `${at}?include=author`)],
  ['from a custom route', (at: string) => ann.call('GET', `${at}/card`)],
])(
  'any view of a record returns a tag that can be used to change it, because only its version counts: %s',
  async (_what, look) => {
    const { path: at } = await newPost();
    const headers = { 'if-match': tagOf(await look(at)) };
    // An update that changes nothing leaves the version as it is.
    expect((await ann.call('PATCH', at, {}, headers)).status).toBe(200);
    expect((await ann.call('PATCH', at, { title: 'Changed' }, headers)).status).toBe(200);
    expect((await ann.call('PATCH', at, { title: 'Changed' }, headers)).status).toBe(412);
  },
);

test('If-Match costs no additional SQL statement', async () => {
  const { path: at, tag } = await newPost();
  const sent = countStatements();
  const count = async (method: string, headers?: Record<string, string>) => {
    const response = await ann.call(method, at, method === 'PATCH' ? { title: 'x' } : undefined, headers);
    expect(response.status).toBeLessThan(300);
    return { statements: sent.count(), tag: tagOf(response) };
  };
  const guarded = await count('PATCH', { 'if-match': tag });
  const plain = await count('PATCH');
  // One statement for the session, one for the change.
  expect([guarded.statements, plain.statements]).toEqual([2, 2]);
  expect((await count('DELETE', { 'if-match': plain.tag })).statements).toBe(2);
  sent.stop();
});

test.each([
  ['*', 200],
  [' * ', 200],
  ['%s', 200],
  ['"other", %s', 200],
  ['%s,', 200],
  ['W/%s', 412],
  ['"other"', 412],
  ['""', 412],
  ['"a-b", W/"c"', 412],
  ['"zzzzzzzzzzzzzzzzzzzz-0123456789012345678901"', 412],
  ['"-1-0123456789012345678901"', 412],
  ['"\u00e4"', 412],
  ['', 400],
  [',', 400],
  ['*, %s', 400],
  ['"unclosed', 400],
  ['unquoted', 400],
  ['w/"lower"', 400],
  ['%s %s', 400],
  ['"a\\"b"', 400],
])('If-Match: %s returns %i', async (form, status) => {
  const { path: at, tag } = await newPost();
  const response = await ann.call('PATCH', at, { title: 'x' }, { 'if-match': form.replaceAll('%s', tag) });
  expect([response.status, response.body.error?.code]).toEqual([
    status,
    { 200: undefined, 412: 'PRECONDITION_FAILED', 400: 'BAD_REQUEST' }[status],
  ]);
});

test.each(['', ',', 'unquoted', '"unclosed', 'w/"lower"'])(
  'the malformed If-Match %j on a read returns 400',
  async (form) => {
    const { path: at } = await newPost();
    for (const path of [at, '/api/posts']) {
      expect(codeOf(await ann.call('GET', path, undefined, { 'if-match': form }))).toEqual([400, 'BAD_REQUEST']);
    }
  },
);

test('the tag of a list does not match a record', async () => {
  const { path: at } = await newPost();
  const tag = tagOf(await ann.call('GET', '/api/posts'));
  expect((await ann.call('PATCH', at, { title: 'x' }, { 'if-match': tag })).status).toBe(412);
});

test('a client that may not see or change the record gets that error, which reveals nothing about the version', async () => {
  const made = await ann.call('POST', '/api/secrets', { text: 'mine' });
  const at = `/api/secrets/${made.body.data.id}`;
  const { path: readable } = await newPost();
  for (const header of ['"old"', '*', tagOf(made)]) {
    const headers = { 'if-match': header };
    for (const method of ['PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? { text: 'x' } : undefined;
      expect(codeOf(await call(method, at, body, headers))).toEqual([401, 'UNAUTHORIZED']);
      expect(codeOf(await bob.call(method, at, body, headers))).toEqual([404, 'NOT_FOUND']);
      expect(codeOf(await bob.call(method, readable, body && { title: 'x' }, headers))).toEqual([403, 'FORBIDDEN']);
      expect(codeOf(await ann.call(method, `/api/secrets/${'0'.repeat(24)}`, body, headers))).toEqual([
        404,
        'NOT_FOUND',
      ]);
      expect(codeOf(await ann.call(method, '/api/secrets/none', body, headers))).toEqual([404, 'NOT_FOUND']);
    }
  }
  expect((await ann.call('GET', at)).body.data.text).toBe('mine');
});

test('a record that may be changed but not read returns 404 to If-Match too', async () => {
  const { id } = await app.service('shy').create({ text: 'x' });
  for (const header of ['"old"', '*']) {
    expect((await ann.call('PATCH', `/api/shies/${id}`, { text: 'y' }, { 'if-match': header })).status).toBe(404);
  }
});

test('an outdated version is reported before errors in the body, whether or not rules need the record', async () => {
  const { path: at, tag } = await newPost();
  await ann.call('PATCH', at, { from: 1, to: 5 });
  for (const body of [{ title: '' }, { nothing: 1 }, { from: 9 }, [], '"x"']) {
    expect((await ann.call('PATCH', at, body, { 'if-match': tag })).status).toBe(412);
    expect((await ann.call('PATCH', at, body, { 'if-match': '*' })).status).toBe(422);
  }
});

test('a custom route reports an outdated version before errors in the body, too', async () => {
  const { path: at, tag } = await newPost();
  await ann.call('PATCH', at, { title: 'Newer' });
  expect((await ann.call('POST', `${at}/rename`, { title: 1 }, { 'if-match': tag })).status).toBe(412);
  expect((await ann.call('POST', `${at}/rename`, { title: 1 }, { 'if-match': '*' })).status).toBe(422);
});

test('hooks do not run for an outdated version, and policy functions run before the version is checked', async () => {
  const made = await call('POST', '/api/watcheds', { text: 'one' });
  const at = `/api/watcheds/${made.body.data.id}`;
  const second = await call('PATCH', at, { text: 'two' }, { 'if-match': tagOf(made) });
  expect(second.status).toBe(200);
  hooked.length = 0;
  expect((await call('PATCH', at, { text: 'three' }, { 'if-match': tagOf(made) })).status).toBe(412);
  expect((await call('DELETE', at, undefined, { 'if-match': tagOf(made) })).status).toBe(412);
  expect(hooked).toEqual([]);
  const closed = await call('PATCH', at, { text: 'closed' }, { 'if-match': tagOf(second) });
  expect([closed.status, hooked]).toEqual([200, ['update two']]);
  expect((await ann.call('PATCH', at, { text: 'x' }, { 'if-match': tagOf(made) })).status).toBe(403);
  expect((await call('DELETE', at, undefined, { 'if-match': tagOf(closed) })).status).toBe(204);
});

test.each([
  ['post', '/api/posts', { title: 'x' }, (n: number) => ({ title: `${n}` })],
  ['post with a rule', '/api/posts', { title: 'x' }, (n: number) => ({ from: n })],
  ['watched', '/api/watcheds', { text: 'x' }, (n: number) => ({ text: `${n}` })],
  ['timeless', '/api/timelesses', { text: 'x' }, (n: number) => ({ text: `${n}` })],
  ['timeless list', '/api/timelesses', { list: ['x'] }, (n: number) => ({ list: [`${n}`] })],
  ['timeless objects', '/api/timelesses', {}, (n: number) => ({ objects: [{ n }] })],
  ['timeless json', '/api/timelesses', { anything: { b: 1, a: [1.5, null] } }, (n: number) => ({ anything: n })],
  ['timeless encrypted', '/api/timelesses', { sealed: 'x' }, (n: number) => ({ sealed: `${n}` })],
  ['timeless encrypted, empty before', '/api/timelesses', {}, (n: number) => ({ sealed: `${n}` })],
])(
  'of 20 concurrent changes with the same If-Match, one succeeds and 19 get 412: %s',
  async (_what, at, body, change) => {
    const made = await ann.call('POST', at, body);
    const one = `${at}/${made.body.data.id}`;
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => ann.call('PATCH', one, change(n), { 'if-match': tagOf(made) })),
    );
    expect(responses.map((response) => response.status).sort()).toEqual([200, ...Array(19).fill(412)]);
    const winner = responses.find((response) => response.status === 200)!;
    const now = await ann.call('GET', one);
    expect([now.body, tagOf(now)]).toEqual([winner.body, tagOf(winner)]);
  },
);

test('of an update and a delete sent concurrently with the same If-Match, one succeeds', async () => {
  for (const at of ['/api/posts', '/api/timelesses']) {
    for (let round = 0; round < 5; round++) {
      const made = await ann.call('POST', at, at === '/api/posts' ? { title: 'x' } : { list: ['x'] });
      const one = `${at}/${made.body.data.id}`;
      const headers = { 'if-match': tagOf(made) };
      const [changed, removed] = await Promise.all([
        ann.call('PATCH', one, at === '/api/posts' ? { title: 'y' } : { list: ['y'] }, headers),
        ann.call('DELETE', one, undefined, headers),
      ]);
      expect([
        [200, 412],
        [404, 204],
      ]).toContainEqual([changed.status, removed.status]);
    }
  }
});

test('without If-Match, 20 concurrent changes all succeed, and each produces a different version', async () => {
  for (const [at, field] of [
    ['/api/posts', 'title'],
    ['/api/watcheds', 'text'],
  ] as const) {
    let count = 0;
    const body = () => ({ [field]: `x${count++}` });
    const made = await ann.call('POST', at, body());
    const one = `${at}/${made.body.data.id}`;
    const few = Array.from({ length: 4 }, () => ann.call('PATCH', one, body()));
    const tags = (await Promise.all(few)).map(tagOf);
    for (let n = 0; n < 16; n++) tags.push(tagOf(await ann.call('PATCH', one, body())));
    expect(new Set([tagOf(made), ...tags]).size).toBe(21);
  }
});

test('a record never returns to an earlier version, even when the clock goes back', async () => {
  const { id } = await app.service('post').create({ title: 'x' });
  const changes = Array.from({ length: 30 }, (_, i) => app.service('post').update(id, { title: `x${i}` }));
  expect(new Set((await Promise.all(changes)).map((record) => record.updatedAt)).size).toBe(30);
  const database = new pg.Client({ connectionString: env.DATABASE_URL });
  await database.connect();
  await database.query(`update posts set updated_at = '2999-01-01' where id = $1`, [id]);
  await database.end();
  expect((await app.service('post').update(id, { title: 'y' })).updatedAt).toBe('2999-01-01T00:00:00.001Z');
});

test('the version of a record without timestamps changes when hidden fields change', async () => {
  const { id } = await app.service('timeless').create({ text: 'x', pin: '1234', when: '2026-01-01', amount: 0.1 });
  const at = `/api/timelesses/${id}`;
  const before = await call('GET', at);
  await app.service('timeless').update(id, { pin: '5678' });
  const after = await call('GET', at);
  expect([before.body, tagOf(before) === tagOf(after)]).toEqual([after.body, false]);
  expect((await call('PATCH', at, { text: 'y' }, { 'if-match': tagOf(before) })).status).toBe(412);
  expect((await call('PATCH', at, { text: 'y' }, { 'if-match': tagOf(after) })).status).toBe(200);
  expect((await call('PATCH', at, { text: 'x' }, { 'if-match': '*' })).status).toBe(200);
});

test('a record without timestamps gets a new version even when a value returns, so tags reveal nothing about hidden fields', async () => {
  const { id } = await app.service('timeless').create({ text: 'x', pin: '1234', code: 'a' });
  const at = `/api/timelesses/${id}`;
  const first = await call('GET', at);
  const tags = [tagOf(first)];
  for (const code of ['b', 'a', 'a']) tags.push(tagOf(await call('PATCH', at, { code })));
  for (const pin of ['5678', '1234']) {
    await app.service('timeless').update(id, { pin });
    tags.push(tagOf(await call('GET', at)));
  }
  expect((await call('GET', at)).body).toEqual(first.body);
  expect(new Set(tags).size).toBe(6);
  for (const tag of tags.slice(0, -1)) {
    expect((await call('PATCH', at, {}, { 'if-match': tag })).status).toBe(412);
  }
});

test.each(['"0-x"', '"4294967296-x"', '"99999999999-x"', '"zz-x"', '"1e5-x"'])(
  'a tag that no record without timestamps can have returns 412: %s',
  async (tag) => {
    const { id } = await app.service('timeless').create({ text: 'x' });
    expect((await call('PATCH', `/api/timelesses/${id}`, {}, { 'if-match': tag })).status).toBe(412);
  },
);

test('a custom route of a record honours If-Match, and application code can pass on the version that it read', async () => {
  const { path: at, tag } = await newPost('quiet');
  const shouted = await ann.call('POST', `${at}/shout`, undefined, { 'if-match': tag });
  expect([shouted.status, shouted.body.data.title]).toEqual([200, 'QUIET']);
  expect(tagOf(shouted)).toBe(tagOf(await ann.call('GET', at)));
  expect(codeOf(await ann.call('POST', `${at}/shout`, undefined, { 'if-match': tag }))).toEqual([
    412,
    'PRECONDITION_FAILED',
  ]);
  expect((await bob.call('POST', `${at}/shout`, undefined, { 'if-match': tag })).status).toBe(403);
  expect((await ann.call('POST', `${at}/shout`, undefined, { 'if-match': 'junk' })).status).toBe(400);
  const record = await app.service('post').read(at.split('/').at(-1)!);
  const changed = await app.service('post').update(record.id, { title: 'code' }, { ifMatch: record.updatedAt });
  for (const act of [
    () => app.service('post').update(record.id, { title: 'late' }, { ifMatch: record.updatedAt }),
    () => app.service('post').delete(record.id, { ifMatch: record.updatedAt }),
  ]) {
    await expect(act()).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
  }
  await app.service('post').delete(record.id, { ifMatch: changed.updatedAt });
});

test('a precondition that the server cannot check is refused, not ignored', async () => {
  const { path: at, tag } = await newPost();
  for (const [method, path, body] of [
    ['POST', '/api/posts', { title: 'x' }],
    ['POST', '/api/posts/announce', undefined],
    ['PATCH', '/api/auth/me', { name: 'Ann' }],
  ] as const) {
    expect(codeOf(await ann.call(method, path, body, { 'if-match': tag }))).toEqual([400, 'BAD_REQUEST']);
  }
  for (const [method, path, body] of [
    ['POST', '/api/posts', { title: 'x' }],
    ['PUT', at, { title: 'x' }],
    ['DELETE', at, undefined],
  ] as const) {
    expect(codeOf(await ann.call(method, path, body, { 'if-none-match': '*' }))).toEqual([400, 'BAD_REQUEST']);
  }
});
