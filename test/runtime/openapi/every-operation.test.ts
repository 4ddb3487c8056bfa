// The document of an app is valid, and every operation in it responds as documented.
import { Client as PostgresClient } from 'pg';
import { afterAll, expect, test, vi } from 'vitest';
import { codeOf } from '../../extensions/two-factor/two-factor-user.ts';
import { blog } from '../../fixtures/blog/app.ts';
import { type ApiResponse, type Client, createClient, startTestApp } from '../../support/app.ts';
import { type Json, readContract } from './contract.ts';
import { faultsOf } from './validators.ts';

const { app, url, env } = await startTestApp(blog, { roles: 'all' });
const sql = new PostgresClient({ connectionString: env.DATABASE_URL! });
await sql.connect();
afterAll(() => sql.end());
const contract = await readContract(url);

/** The input of a call, apart from the client. */
interface OperationInput {
  path?: Record<string, string>;
  query?: string;
  body?: unknown;
  headers?: Record<string, string>;
}

const succeeded = new Set<string>();

/** Calls an operation as documented and compares the response with the document. */
async function call(
  as: Client,
  id: string,
  { path = {}, query, body, headers }: OperationInput = {},
): Promise<ApiResponse> {
  const operation = contract.operations.get(id)!;
  const where = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name]!));
  const url = where + (query === undefined ? '' : `?${query}`);
  const response = await as(operation.method, url, body, headers);
  contract.check(id, response, url);
  if (response.status < 300) succeeded.add(id);
  return response;
}

async function good(as: Client, id: string, given: OperationInput = {}): Promise<Json> {
  const response = await call(as, id, given);
  expect(response.status, JSON.stringify(response.body)).toBeLessThan(300);
  return response.body?.data;
}

const nobody = createClient(url);
const PASSWORD = 'a bell rings at noon';
const ada = { name: 'Ada', email: 'ada@example.com', password: PASSWORD, bio: 'Counts' };
const registered = await good(nobody, 'register', { body: ada });
const asAda = createClient(url, registered.token);
await app.service('user').update(registered.user.id, { roles: ['user', 'admin'] });

test('two validators find no errors in the document', async () => {
  expect(await faultsOf(contract.document)).toEqual([]);
});

test('the account operations respond as documented', async () => {
  const { token } = await good(nobody, 'login', { body: { email: ada.email, password: PASSWORD } });
  const here = createClient(url, token);
  expect((await good(here, 'readMe')).email).toBe(ada.email);
  expect((await good(here, 'updateMe', { body: { bio: null, avatarUrl: 'https://example.com/a.png' } })).bio).toBe(
    undefined,
  );
  const device = await good(here, 'registerDevice', { body: { token: 'a'.repeat(64), platform: 'ios' } });
  await good(here, 'registerDevice', { body: { token: 'b'.repeat(64), platform: 'android', name: 'Phone' } });
  expect(await good(here, 'listMyDevices')).toHaveLength(2);
  const push = await good(asAda, 'sendPush', { body: { deviceIds: [device.id], title: 'Hi', data: { a: [1] } } });
  expect((await good(asAda, 'readPush', { path: { id: push.id }, query: 'limit=1' })).devices).toHaveLength(1);
  await good(here, 'reportOpenedPush', { body: { data: { url: '/x' } } });
  await good(here, 'unregisterDevice', { body: { token: 'b'.repeat(64) } });
  await good(here, 'removeMyDevice', { path: { deviceId: device.id } });
  expect(await good(here, 'listMySignInMethods')).toEqual(['password']);
  await sql.query(
    `insert into user_identities (id, user_id, provider, subject, email) values ($1, $2, 'acme', 's1', 'ada@acme.example')`,
    ['a'.repeat(24), registered.user.id],
  );
  const identity = (await good(here, 'listMyIdentities'))[0];
  await good(here, 'reauthenticate', { body: { password: PASSWORD } });
  await good(here, 'removeMyIdentity', { path: { identityId: identity.id } });
  const other = await good(nobody, 'login', { body: { email: ada.email, password: PASSWORD } });
  const newest = (await good(here, 'listMySessions')).find((one: Json) => !one.current);
  await good(here, 'endMySession', { path: { sessionId: newest!.id } });
  expect((await call(createClient(url, other.token), 'readMe')).status).toBe(401);
  await good(here, 'logout');
  expect((await call(here, 'readMe')).status).toBe(401);

  const dan = await good(nobody, 'register', { body: { ...ada, name: 'Dan', email: 'dan@example.com' } });
  const asDan = createClient(url, dan.token);
  await good(asDan, 'changePassword', { body: { currentPassword: PASSWORD, newPassword: 'two bells ring at one' } });
  await good(asDan, 'logoutAll');
  expect((await call(asDan, 'readMe')).status).toBe(401);

  await good(nobody, 'forgotPassword', { body: { email: 'dan@example.com' } });
  const mail = await vi.waitUntil(async () => (await app.captured.mails())[0], { timeout: 60_000 });
  const password = 'three bells ring at two';
  expect((await call(nobody, 'resetPassword', { body: { token: 'x', password } })).status).toBe(400);
  await good(nobody, 'resetPassword', { body: { token: /token=([\w-]+)/.exec(mail.text)![1], password } });
});

test('the record operations respond as documented, with expanded references, selected fields and every kind of pagination', async () => {
  const first = await good(asAda, 'createPost', { body: { title: 'One', body: 'Text', tags: ['a', 'b'] } });
  const second = await good(asAda, 'createPost', { body: { title: 'Two', status: null } });
  const id = { id: first.id };
  await good(asAda, 'publishPost', { path: id });
  await good(asAda, 'updatePost', { path: id, body: { body: null, tags: ['c'] } });
  for (const query of [
    '',
    'sort=-title&limit=1',
    'status[in]=draft,published&tags[all]=c&count=none',
    'fields=title,author&include=author',
    'fields=id&q=one',
    'q=o&count=capped',
    'page=9',
  ]) {
    await good(asAda, 'listPosts', { query });
    await good(nobody, 'listPosts', { query });
  }
  const { meta } = (await call(asAda, 'listPosts', { query: 'limit=1' })).body;
  await good(asAda, 'listPosts', { query: `limit=1&after=${meta.next}` });
  await good(nobody, 'readPost', { path: id, query: 'include=author' });
  const tag = (await call(asAda, 'readPost', { path: id })).headers.get('etag')!;
  expect((await call(asAda, 'readPost', { path: id, headers: { 'if-none-match': tag } })).status).toBe(304);

  const batch = [
    { op: 'create', data: { title: 'Batched' } },
    { op: 'update', id: second.id, data: { title: 'Deux' }, ifMatch: '*' },
    { op: 'delete', id: 'f'.repeat(24) },
  ];
  expect((await call(asAda, 'batchPosts', { body: { operations: batch } })).status).toBe(404);
  const results = await good(asAda, 'batchPosts', { body: { mode: 'perItem', operations: batch } });
  expect(results.map(({ status }: Json) => status)).toEqual([201, 200, 404]);

  const comment = await good(asAda, 'createComment', { body: { post: first.id, body: 'Well said' } });
  const about = { id: comment.id };
  await good(nobody, 'listComments', { query: `post=${first.id}&include=post.author` });
  await good(nobody, 'readComment', { path: about, query: 'include=post&fields=post' });
  await good(asAda, 'updateComment', { path: about, body: { body: 'Well put' } });
  const operations = [{ op: 'update', id: comment.id, data: { body: 'Better put' } }];
  await good(asAda, 'batchComments', { body: { operations } });
  await good(asAda, 'deleteComment', { path: about });
  await good(asAda, 'deletePost', { path: { id: second.id } });
});

test('the user operations respond as documented, for an administrator and for other users', async () => {
  const made = await good(asAda, 'createUser', {
    body: { name: 'Bob', email: 'bob@example.com', password: PASSWORD, roles: ['editor'] },
  });
  await good(asAda, 'listUsers', { query: 'email=bob@example.com&roles[in]=editor&sort=name' });
  await good(asAda, 'readUser', { path: { id: made.id } });
  await good(asAda, 'updateUser', { path: { id: made.id }, body: { status: 'disabled' } });
  await good(asAda, 'batchUsers', { body: { operations: [{ op: 'update', id: made.id, data: { name: 'Rob' } }] } });
  await good(asAda, 'deleteUser', { path: { id: made.id } });
});

test('the two-factor operations respond as documented: both responses of a login, and the second step', async () => {
  const eve = { name: 'Eve', email: 'eve@example.com', password: PASSWORD };
  const { user, token } = await good(nobody, 'register', { body: eve });
  const asEve = createClient(url, token);
  const guard = async () => {
    const { secret } = await good(asEve, 'enrolTwoFactor', { body: { password: PASSWORD } });
    return good(asEve, 'confirmTwoFactor', { body: { code: codeOf(secret) } });
  };
  const first = await guard();
  expect((await call(asEve, 'renewRecoveryCodes', { body: { password: PASSWORD } })).status).toBe(422);
  const { recoveryCodes } = await good(asEve, 'renewRecoveryCodes', {
    body: { password: PASSWORD, code: first.recoveryCodes[0] },
  });
  const { mfaToken } = await good(nobody, 'login', { body: { email: eve.email, password: PASSWORD } });
  const step = { mfaToken, method: 'recovery' };
  expect((await call(nobody, 'verifyTwoFactor', { body: { ...step, code: 'wrong' } })).status).toBe(401);
  expect((await good(nobody, 'verifyTwoFactor', { body: { ...step, code: recoveryCodes[0] } })).user.id).toBe(user.id);
  expect((await good(asEve, 'readTwoFactor')).recoveryCodesLeft).toBe(9);
  await good(asEve, 'disableTwoFactor', { body: { password: PASSWORD, code: recoveryCodes[1] } });
  await guard();
  await good(asAda, 'disableTwoFactorOfUser', { path: { id: user.id } });
});

test('the API key operations respond as documented, and so do operations called with a key', async () => {
  const made = await good(asAda, 'createApiKey', { body: { name: 'Export', scopes: ['posts:read', 'posts:publish'] } });
  const script = createClient(url, made.key);
  const { id } = await good(asAda, 'createPost', { body: { title: 'By a script' } });
  await good(script, 'listPosts', { query: 'limit=1' });
  await good(script, 'publishPost', { path: { id } });
  expect((await call(script, 'createPost', { body: { title: 'Not so' } })).status).toBe(403);
  expect((await call(script, 'createApiKey', { body: { name: 'More' } })).status).toBe(403);
  expect((await call(asAda, 'createApiKey', { body: { name: 'x', scopes: ['posts:eat'] } })).status).toBe(422);
  await good(asAda, 'listMyApiKeys');
  await good(asAda, 'listApiKeyScopes');
  await good(asAda, 'revokeMyApiKey', { path: { id: made.id } });
  expect((await call(script, 'listPosts')).status).toBe(401);
  const other = await good(asAda, 'createApiKey', { body: { name: 'Other' } });
  await good(asAda, 'listApiKeys', { query: 'status=revoked&limit=10' });
  await good(asAda, 'revokeApiKey', { path: { id: other.id } });
});

test('the webhook operations respond as documented, with deliveries in their log', { timeout: 240_000 }, async () => {
  // No server listens on this port.
  const { id, secret } = await good(asAda, 'createWebhook', {
    body: { url: 'http://127.0.0.1:9/', events: ['post.*'], description: 'Mine' },
  });
  expect(secret).toMatch(/^whsec_/);
  const path = { id };
  await good(asAda, 'createPost', { body: { title: 'Three' } });
  await vi.waitUntil(
    async () => (await good(asAda, 'listWebhookDeliveries', { path, query: 'limit=5' }))[0]?.attemptLog.length > 0,
    { timeout: 60_000, interval: 50 },
  );
  await good(asAda, 'listWebhooks');
  await good(asAda, 'readWebhook', { path });
  const { id: deliveryId } = await good(asAda, 'testWebhook', { path });
  await good(asAda, 'retryWebhookDelivery', { path: { id, deliveryId } });
  expect(await good(asAda, 'listWebhookEvents')).not.toEqual([]);
  await good(asAda, 'readWebhookEvent', { query: 'name=post.created' });
  await good(asAda, 'readWebhookStatistics', { path });
  await good(asAda, 'explainWebhookEvent', { path, query: `event=${deliveryId}` });
  await good(asAda, 'testWebhookFilter', { path, body: { filter: null } });
  const recovery = await good(asAda, 'recoverWebhook', { path, body: { since: new Date().toISOString() } });
  await good(asAda, 'readWebhookRecovery', { path: { id, recoveryId: recovery.id } });
  expect((await good(asAda, 'rotateWebhookSecret', { path })).secret).not.toBe(secret);
  await good(asAda, 'updateWebhook', { path, body: { enabled: false } });
  expect((await call(asAda, 'testWebhook', { path })).status).toBe(400);
  await good(asAda, 'deleteWebhook', { path });
  const polled = await good(asAda, 'createWebhook', { body: { delivery: 'poll', events: ['post.*'] } });
  await good(asAda, 'testWebhook', { path: { id: polled.id } });
  const messages = await good(asAda, 'pollWebhook', { path: { id: polled.id }, query: 'limit=5&wait=1' });
  await good(asAda, 'acknowledgeWebhook', { path: { id: polled.id }, body: { cursor: messages[0].cursor } });
});

test('errors are documented with their codes', async () => {
  const post = await good(asAda, 'createPost', { body: { title: 'Four' } });
  const carl = await good(nobody, 'register', { body: { ...ada, name: 'Carl', email: 'carl@example.com' } });
  const asCarl = createClient(url, carl.token);
  const path = { id: post.id };
  const refused = async (status: number, as: Client, id: string, given: OperationInput = {}) =>
    expect((await call(as, id, given)).status, id).toBe(status);
  await refused(401, createClient(url, `svc_${'0'.repeat(64)}`), 'listPosts');
  await refused(401, nobody, 'createPost', { body: { title: 'x' } });
  await refused(403, asCarl, 'listUsers');
  await refused(404, asCarl, 'readPost', { path });
  await refused(404, asCarl, 'deletePost', { path: { id: 'nonsense' } });
  await refused(400, nobody, 'listPosts', { query: 'colour=red' });
  await refused(400, asAda, 'createPost', { body: '{"title"' });
  await refused(409, nobody, 'register', { body: ada });
  await refused(412, asAda, 'updatePost', { path, body: { title: 'y' }, headers: { 'if-match': '"old"' } });
  await refused(412, asAda, 'readPost', { path, headers: { 'if-match': '"old"' } });
  await refused(400, asAda, 'createPost', { body: { title: 'x' }, headers: { 'if-match': '*' } });
  await refused(415, asAda, 'createPost', { body: 'title=x', headers: { 'content-type': 'text/plain' } });
  await refused(413, asAda, 'createPost', { body: { title: 'x'.repeat(1_100_000) } });
  await refused(422, asAda, 'createPost', { body: { titel: 'x' } });
  await refused(422, nobody, 'register', { body: { ...ada, roles: ['admin'] } });
  await refused(403, asCarl, 'createWebhook', {
    body: { url: 'http://127.0.0.1:9/', events: ['*'], scope: 'global' },
  });
  const key = { 'idempotency-key': 'a-key' };
  await good(asAda, 'createPost', { body: { title: 'Five' }, headers: key });
  await refused(201, asAda, 'createPost', { body: { title: 'Five' }, headers: key });
  await refused(422, asAda, 'createPost', { body: { title: 'Six' }, headers: key });
});

test('every documented operation was called and succeeded: a new one needs a call above', () => {
  expect([...contract.operations.keys()].filter((id) => !succeeded.has(id))).toEqual([]);
});
