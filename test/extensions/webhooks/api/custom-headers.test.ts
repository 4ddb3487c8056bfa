import { Client } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { adminConsole, audit, type createApp, defineUser, privacy, webhooks } from '../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../fakes/receiver.ts';
import { createClient, type Client as HttpClient, type Person, startTestApp } from '../../../support/app.ts';

const options = {
  resources: [defineUser()],
  extensions: [
    webhooks({ retrySchedule: [], pollMs: 50, maxEndpointsPerUser: 100, portal: true }),
    audit(),
    privacy(),
    adminConsole(),
  ],
} as const;
const running = await startTestApp(options, { roles: 'all', env: () => ({ APP_URL: 'https://api.example.com' }) });
const { call, person, env, url: appUrl } = running;
const app = running.app as unknown as ReturnType<typeof createApp<typeof options.resources, typeof options.extensions>>;
const receiver: Receiver = await startReceiver();
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
afterAll(() => Promise.all([receiver.close(), client.end()]));

const ann = await person('Ann');
const KEY = 'key-3f1c9b6a20d84e57';
const TOKEN = 'Bearer token-5e884898da28047d';
const SECRETS = [KEY, TOKEN.slice(7)];
const create = (headers: unknown, who: { call: HttpClient } = ann, url = receiver.url) =>
  who.call('POST', '/api/webhooks', { url, events: ['user.*'], headers });
const created = async (headers: object, who: { call: HttpClient } = ann): Promise<{ id: string }> => {
  const { status, body } = await create(headers, who);
  expect([status, body.error]).toEqual([201, undefined]);
  return body.data;
};
const patch = (id: string, body: object | string, who: { call: HttpClient } = ann) =>
  who.call('PATCH', `/api/webhooks/${id}`, body);
/** Sends a test and returns the headers that arrived. */
async function received(id: string, who: { call: HttpClient } = ann) {
  const before = receiver.requests.length;
  const { status } = await who.call('POST', `/api/webhooks/${id}/test`);
  expect(status).toBe(200);
  return (await receiver.received(before + 1)).at(-1)!.headers;
}
const linkTo = async ({ id }: Person): Promise<HttpClient> => {
  const { url } = await app.webhooks.portalLink(id);
  return createClient(appUrl, new URL(url).hash.replace('#token=', ''));
};

test('custom headers are sent with every message, tests included, beside the headers of Belfry', async () => {
  const { id } = await created({ 'X-Api-Key': KEY, Authorization: TOKEN, 'x-note': '  a \t b ', constructor: 'c' });
  const headers = await received(id);
  expect(headers).toMatchObject({
    'x-api-key': KEY,
    authorization: TOKEN,
    'x-note': 'a \t b',
    constructor: 'c',
    'content-type': 'application/json',
    'user-agent': 'Belfry-Webhooks',
    'webhook-id': expect.any(String),
  });
  const before = receiver.requests.length;
  await person('Someone');
  await ann.call('PATCH', '/api/auth/me', { name: 'Ann B.' });
  const event = (await receiver.received(before + 1)).at(-1)!;
  expect(JSON.parse(event.body).type).toBe('user.updated');
  expect(event.headers['x-api-key']).toBe(KEY);
  await ann.call('DELETE', `/api/webhooks/${id}`);
});

test('responses show the names as written, and of values only the last four characters of long tokens', async () => {
  const headers = {
    'X-Api-KEY': KEY,
    authorization: TOKEN,
    Short: 'abcdef',
    Login: 'Basic YW5uOmEgbG9uZyBwYXNzd29yZA==',
  };
  const masked = { 'X-Api-KEY': '••••4e57', authorization: '••••047d', Short: '••••', Login: '••••' };
  const answer = await create(headers);
  expect(answer.body.data.headers).toEqual(masked);
  const { id } = answer.body.data;
  expect((await ann.call('GET', `/api/webhooks/${id}`)).body.data.headers).toEqual(masked);
  const list = (await ann.call('GET', '/api/webhooks')).body.data;
  expect(list.find((one: { id: string }) => one.id === id).headers).toEqual(masked);
  expect((await patch(id, { description: 'x' })).body.data.headers).toEqual(masked);
  expect((await ann.call('POST', `/api/webhooks/${id}/rotate-secret`)).body.data.headers).toEqual(masked);
  for (const none of [undefined, null, {}]) expect((await create(none)).body.data).not.toHaveProperty('headers');
});

const REQUIRED = 'Must be an object of header names and values';
const RESERVED = 'Is reserved for the sender of webhooks, for proxies or for HTTP itself; choose another name';
const NAME = "Must have a name of letters, digits and the characters !#$%&'*+-.^_`|~";
const VALUE = 'Must contain only visible ASCII characters, spaces and tabs';
const numbered = (count: number, value = 'v') =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`X-${i}`, value]));

test.each<[what: string, headers: unknown, details: object]>([
  ['a list', [], { headers: REQUIRED }],
  ['a text', 'X-A: b', { headers: REQUIRED }],
  ['eleven headers', numbered(11), { headers: 'Must be at most 10 headers' }],
  ['hundreds of headers', numbered(900), { headers: 'Must be at most 10 headers' }],
  [
    'more than 4 KB',
    numbered(5, 'v'.repeat(1000)),
    { headers: 'Must be at most 4096 characters in all names and values' },
  ],
  ['an empty name', { '': 'v' }, { 'headers.': NAME }],
  ['a name with a space', { 'X A': 'v' }, { 'headers.X A': NAME }],
  ['a name with a line break', { 'X-A\r\nX-B': 'v' }, { 'headers.X-A\r\nX-B': NAME }],
  ['a name with an umlaut', { 'X-Ä': 'v' }, { 'headers.X-Ä': NAME }],
  ['a name with a colon', { ':path': 'v' }, { 'headers.:path': NAME }],
  [
    'a long name',
    { ['X'.repeat(65)]: 'v' },
    { [`headers.${'X'.repeat(64)}`]: 'Must have a name of at most 64 characters' },
  ],
  [
    'names that differ only in case',
    { 'X-A': 'v', 'x-a': 'w' },
    { 'headers.x-a': 'Must be given once: names of headers are case-insensitive' },
  ],
  ['a number', { 'X-A': 7 }, { 'headers.X-A': 'Must be a string' }],
  ['null in a new endpoint', { 'X-A': null }, { 'headers.X-A': 'Must be a string' }],
  ['an object', { 'X-A': { toString: 'v' } }, { 'headers.X-A': 'Must be a string' }],
  ['an empty value', { 'X-A': ' \t ' }, { 'headers.X-A': 'Must not be empty' }],
  ['a value with a line break', { 'X-A': 'v\r\nX-B: w' }, { 'headers.X-A': VALUE }],
  ['a value that ends with a line break', { 'X-A': 'v\n' }, { 'headers.X-A': VALUE }],
  ['a value with NUL', { 'X-A': 'v\0' }, { 'headers.X-A': VALUE }],
  ['a value with an umlaut', { 'X-A': 'ä' }, { 'headers.X-A': VALUE }],
  ['a masked value', { 'X-A': '••••4e57' }, { 'headers.X-A': VALUE }],
  ['a long value', { 'X-A': 'v'.repeat(1025) }, { 'headers.X-A': 'Must be at most 1024 characters' }],
])('invalid headers are refused with 422 that names the header and the rule: %s', async (_, headers, details) => {
  const { status, body } = await create(headers);
  expect([status, body.error?.details]).toEqual([422, details]);
});

test('headers that Belfry, HTTP or a proxy sets are refused, in any case', async () => {
  const names = [
    ...['Webhook-Signature', 'webhook-anything', 'Content-Type', 'content-length', 'CONTENT-ENCODING', 'Host'],
    ...['User-Agent', 'traceparent', 'tracestate', 'Accept-Encoding', 'Expect', 'Cookie', 'Connection', 'Keep-Alive'],
    ...['Proxy-Authorization', 'TE', 'Trailer', 'Transfer-Encoding', 'Upgrade', 'X-Forwarded-For', 'Forwarded'],
    ...['X-HTTP-Method-Override', 'Metadata-Flavor', 'X-aws-ec2-metadata-token'],
  ];
  for (const name of names) {
    const { status, body } = await create({ [name]: 'v' });
    expect([name, status, body.error.details]).toEqual([name, 422, { [`headers.${name}`]: RESERVED }]);
  }
  const proto = `{"url":"${receiver.url}","events":["*"],"headers":{"__proto__":"v"}}`;
  const refused = await ann.call('POST', '/api/webhooks', proto);
  expect([refused.status, refused.body.error.details]).toEqual([422, { 'headers.__proto__': RESERVED }]);
});

test('PATCH sets the named headers, removes those that are null, and keeps the others; null removes all', async () => {
  const { id } = await created({ 'X-Api-Key': KEY, Authorization: TOKEN });
  const headersAfter = async (headers: object | null) => (await patch(id, { headers })).body.data.headers;
  expect(await headersAfter({ 'x-new': 'n' })).toEqual({
    'X-Api-Key': '••••4e57',
    Authorization: '••••047d',
    'x-new': '••••',
  });
  expect(await received(id)).toMatchObject({ 'x-api-key': KEY, authorization: TOKEN, 'x-new': 'n' });
  expect(await headersAfter({ 'X-API-KEY': 'other', AUTHORIZATION: null, 'not-there': null })).toEqual({
    'X-API-KEY': '••••',
    'x-new': '••••',
  });
  const sent = await received(id);
  expect(sent).toMatchObject({ 'x-api-key': 'other', 'x-new': 'n' });
  expect(sent).not.toHaveProperty('authorization');
  expect((await patch(id, { headers: {} })).body.data.headers).toHaveProperty('x-new');
  expect((await patch(id, { headers: numbered(9) })).body.error.details).toEqual({
    headers: 'Must be at most 10 headers',
  });
  expect(Object.keys((await patch(id, { headers: { ...numbered(9), 'x-new': null } })).body.data.headers)).toHaveLength(
    10,
  );
  expect((await patch(id, { headers: null })).body.data).not.toHaveProperty('headers');
  expect(await received(id)).not.toHaveProperty('x-api-key');
  const [row] = (await client.query('select headers, header_masks from webhook_endpoints where id = $1', [id])).rows;
  expect(row).toEqual({ headers: null, header_masks: null });
});

test('concurrent changes of different headers are all kept', async () => {
  const { id } = await created({ 'X-Api-Key': KEY });
  await Promise.all(Object.entries(numbered(8)).map(([name, value]) => patch(id, { headers: { [name]: value } })));
  const { headers } = (await ann.call('GET', `/api/webhooks/${id}`)).body.data;
  expect(Object.keys(headers).sort()).toEqual(['X-Api-Key', ...Object.keys(numbered(8))].sort());
});

const AGAIN =
  'Send the values of these headers again, or remove them, because the URL changes to another origin: X-Api-Key, Authorization';

/** The doors at which a URL can be changed, as the ways to change an endpoint of Ann. */
const doors: [string, () => Promise<(id: string, body: object) => ReturnType<HttpClient>>][] = [
  ['the API', async () => patch],
  [
    'the portal',
    async () => {
      const link = await linkTo(ann);
      return (id, body) => link('PATCH', `/api/webhooks/${id}`, body);
    },
  ],
  ['the console', async () => (id, body) => call('PATCH', `/console/api/webhooks/endpoints/${id}`, body)],
];

test.each(doors)(
  'a URL of another origin is refused at %s unless all headers are sent again or removed',
  async (_, open) => {
    const change = await open();
    const { port } = new URL(receiver.url);
    const { id } = await created({ 'X-Api-Key': KEY, Authorization: TOKEN });
    for (const url of [
      'http://127.0.0.2:9/hook',
      'http://127.0.0.1:9/hook',
      `https://127.0.0.1:${port}/hook`,
      `http://localhost:${port}/hook`,
    ]) {
      const { status, body } = await change(id, { url });
      expect([url, status, body.error?.details]).toEqual([url, 422, { headers: AGAIN }]);
      const some = await change(id, { url, headers: { authorization: 'Bearer other' } });
      expect(some.body.error.details).toEqual({ headers: AGAIN.replace(', Authorization', '') });
    }
    expect((await ann.call('GET', `/api/webhooks/${id}`)).body.data.url).toBe(receiver.url);
    // The same origin, in another form.
    const path = `HTTP://127.0.0.1:${port}/other?a=b`;
    expect((await change(id, { url: path })).status).toBe(200);
    expect(await received(id)).toMatchObject({ 'x-api-key': KEY });
    const local = `http://localhost:${port}/hook`;
    expect((await change(id, { url: local, headers: { 'x-api-key': 'other', authorization: null } })).status).toBe(200);
    expect(await received(id)).toMatchObject({ 'x-api-key': 'other' });
    expect((await change(id, { url: receiver.url, headers: null })).status).toBe(200);
    expect((await change(id, { url: local })).status).toBe(200);
  },
);

test('headers that are added while the URL changes to another origin are not sent there', async () => {
  const rounds = 10;
  for (let round = 0; round < rounds; round += 1) {
    const { id } = await created({});
    const [moved, added] = await Promise.all([
      patch(id, { url: 'http://127.0.0.1:9/hook' }),
      patch(id, { headers: { 'X-Api-Key': KEY } }),
    ]);
    // If the headers came first, the URL stays. Otherwise the response to the headers shows the new URL.
    expect(added.status).toBe(200);
    if (moved.status === 200) expect(added.body.data.url).toBe('http://127.0.0.1:9/hook');
    else expect([moved.status, added.body.data.url]).toEqual([422, receiver.url]);
    await ann.call('DELETE', `/api/webhooks/${id}`);
  }
});

test('the values are in no response, event, audit entry, export, log of deliveries or column, and the body of a redirect gets none', async () => {
  const emitted: unknown[] = [];
  for (const name of ['webhook.created', 'webhook.updated', 'webhook.disabled', 'webhook.deleted'] as const)
    app.on(name, (payload) => void emitted.push(payload));
  const [eve, root, other] = [await person('Eve'), await person('Root', ['admin']), await startReceiver()];
  afterAll(() => other.close());
  const seen: unknown[] = [];
  const note = async (answer: ReturnType<HttpClient>) => {
    const { status, body } = await answer;
    seen.push(body);
    return { status, body };
  };
  const headers = { 'X-Api-Key': KEY, Authorization: TOKEN };
  const { body } = await note(create(headers, eve));
  const { id } = body.data;
  // A receiver that repeats its request, once in full and once cut off in the middle of a token.
  receiver.answer((request, res) => void res.writeHead(200).end(JSON.stringify(request.headers)));
  await note(eve.call('POST', `/api/webhooks/${id}/test`));
  receiver.answer((request, res) => {
    void res.writeHead(500).end('x'.repeat(1010) + request.headers.authorization);
  });
  const { body: cut } = await note(eve.call('POST', `/api/webhooks/${id}/test`));
  expect(cut.data.response).toMatch(/^x{1010}••••$/);
  receiver.answer((_, res) => void res.writeHead(307, { location: other.url }).end());
  expect((await note(eve.call('POST', `/api/webhooks/${id}/test`))).body.data.error).toBe('redirect');
  receiver.answer(204);
  await note(patch(id, { headers: { 'X-More': KEY } }, eve));
  await note(patch(id, { url: 'http://127.0.0.1:9/' }, eve));
  await note(patch(id, { headers: { 'X-Bad\n': KEY } }, eve));
  const { body: log } = await note(eve.call('GET', `/api/webhooks/${id}/deliveries`));
  await note(eve.call('GET', `/api/webhooks/${id}/explain?event=${'0'.repeat(24)}`));
  await note(call('GET', `/console/api/webhooks/endpoints/${id}`));
  await note(call('GET', '/console/api/webhooks/endpoints'));
  const { body: shown } = await note(call('GET', `/console/api/webhooks/deliveries/${log.data[0].id}`));
  expect(shown.data.content.headers).toMatchObject({ 'X-Api-Key': '••••4e57', 'webhook-id': expect.any(String) });
  await note(patch(id, { enabled: false }, eve));
  await vi.waitUntil(async () => {
    const answer = await root.call('GET', `/api/admin/audit?record=${id}&limit=100`);
    seen.push(answer.body);
    return answer.body.data.some((entry: { action: string }) => entry.action === 'webhook.disabled');
  });
  await note(eve.call('DELETE', `/api/webhooks/${id}`));
  const kept = await client.query('select headers, header_masks from webhook_endpoints where id = $1', [id]);
  for (const row of kept.rows) expect(row).toEqual({ headers: null, header_masks: null });
  const tables = await client.query(
    `select table_name from information_schema.tables where table_schema = current_schema() and table_type = 'BASE TABLE'`,
  );
  for (const { table_name: table } of tables.rows)
    seen.push((await client.query(`select coalesce(string_agg(t::text, ' '), '') as text from "${table}" t`)).rows);
  expect(emitted.length).toBeGreaterThan(3);
  const all = JSON.stringify([seen, emitted]);
  expect(all).toContain('••••4e57');
  for (const secret of SECRETS) expect(all).not.toContain(secret);
  expect(other.requests).toEqual([]);
});
