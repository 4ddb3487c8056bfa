import { afterAll, expect, test, vi } from 'vitest';
import {
  apiKeys,
  audit,
  createApp,
  defineResource,
  defineUser,
  f,
  organisations,
  realtime,
  webhooks,
} from '../../../../src/index.ts';
import { createKeyring } from '../../../../src/platform/data/crypto/keyring.ts';
import { type Receiver, startReceiver } from '../../../fakes/receiver.ts';
import { type Client, createClient, type Person, startTestApp } from '../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { list: 'public', read: 'owner | admin', create: 'public' },
});
let duringRequest: () => Promise<unknown> = async () => undefined;
/** A policy that runs code between the authentication of a request and its handler. */
async function runDuringRequest(): Promise<boolean> {
  await duringRequest();
  return true;
}
const createLink = (id: string): Promise<{ url: string }> => app.webhooks.portalLink(id);
const shop = defineResource('shop', {
  fields: { name: f.string() },
  routes: (route) => [
    route.post('/link', { scope: 'webhooks:write' }, ({ user }) => createLink(user!.id)),
    route.post('/link-for-anyone', ({ input }) => createLink((input as { id: string }).id)),
  ],
});
const options = {
  resources: [defineUser(), note, shop],
  extensions: [
    webhooks({ portal: true, globalPolicy: 'authenticated', policy: runDuringRequest }),
    apiKeys(),
    audit(),
    realtime(),
    organisations(),
  ],
} as const;
const running = await startTestApp(options, { roles: 'all', env: () => ({ APP_URL: 'https://api.example.com' }) });
const { url, env, person } = running;
const app = running.app as unknown as ReturnType<typeof createApp<typeof options.resources, typeof options.extensions>>;
const receiver: Receiver = await startReceiver();
afterAll(() => receiver.close());

const tokenOf = (link: { url: string }) => new URL(link.url).hash.replace('#token=', '');
const withLink = (link: { url: string }): Client => createClient(url, tokenOf(link));
const create = async (owner: Person, more: object = {}): Promise<{ id: string; secret: string }> => {
  const { status, body } = await owner.call('POST', '/api/webhooks', { url: receiver.url, events: ['*'], ...more });
  expect([status, body.error]).toEqual([201, undefined]);
  return body.data;
};
const PASSWORD = 'correct horse battery';
/** Signs a user in again whose sessions or password have ended. Returns the token. */
async function signInAgain({ email }: Person, end: string): Promise<string> {
  const password = end === '/api/auth/password' ? 'another horse battery' : PASSWORD;
  return (await running.call('POST', '/api/auth/login', { email, password })).body.data.token;
}
const list = async (call: Client) => {
  const { status, body } = await call('GET', '/api/webhooks');
  return status === 200 ? body.data.map(({ id }: { id: string }) => id) : body.error.code;
};

test('a link leads to the page with its secret in the fragment, and ends after the given time, by default an hour', async () => {
  const ann = await person('Ann');
  const link = await app.webhooks.portalLink(ann.id);
  expect(link.url).toMatch(/^https:\/\/api\.example\.com\/webhooks\/portal#token=svc_wp_[\w.-]+$/);
  expect(Date.parse(link.expiresAt) - Date.now()).toBeGreaterThan(3_590_000);
  expect(Date.parse(link.expiresAt) - Date.now()).toBeLessThanOrEqual(3_601_000);
  const { headers, body } = await withLink(link)('GET', '/api/webhooks/portal');
  expect(body.data).toEqual({
    expiresAt: link.expiresAt,
    endpointId: null,
    includeGlobal: false,
    organisation: null,
    maxEndpoints: 10,
    keepDeliveriesDays: 14,
    secretGraceHours: 24,
    keepEventsDays: 0,
  });
  expect(headers.get('cache-control')).toBe('no-store');
  const brief = await app.webhooks.portalLink(ann.id, { expiresIn: '1s' });
  await expect.poll(() => list(withLink(brief)), { timeout: 10_000 }).toBe('UNAUTHORIZED');
});

test.each([
  [{ expiresIn: 0 }, 'expiresIn: must be from 1 second to 24 hours'],
  [{ expiresIn: '25h' }, 'expiresIn'],
  [{ expiresIn: 'soon' }, 'expiresIn'],
  [{ endpointId: 'x' }, 'endpointId: must be the id of an endpoint'],
  [{ endpoint: '6b019b8ee52d2ecd8e5ae74e' }, 'endpoint'],
  [{ endpointId: '6b019b8ee52d2ecd8e5ae74e' }, 'the user has no endpoint'],
] as const)('a link with the options %j is refused with an error for the developer', async (given, message) => {
  const ann = await person('Ann');
  await expect(app.webhooks.portalLink(ann.id, given as object)).rejects.toThrow(message);
});

test('there are links only for active users', async () => {
  await expect(app.webhooks.portalLink('6b019b8ee52d2ecd8e5ae74e')).rejects.toThrow('there is no active user');
  await expect(app.webhooks.portalLink("' or true")).rejects.toThrow('there is no active user');
});

test('a link manages the endpoints of its user: it creates, reads, changes, tests, rotates, explains, recovers and deletes', async () => {
  const ann = await person('Ann');
  const call = withLink(await app.webhooks.portalLink(ann.id));
  const created = await call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'] });
  expect([created.status, created.body.data.secret]).toEqual([201, expect.stringMatching(/^whsec_/)]);
  const path = `/api/webhooks/${created.body.data.id}`;
  expect(await list(ann.call)).toEqual([created.body.data.id]);
  expect((await call('PATCH', path, { events: ['note.*'] })).body.data.events).toEqual(['note.*']);
  expect((await call('POST', `${path}/rotate-secret`)).status).toBe(200);
  const sent = await call('POST', `${path}/test`);
  expect([sent.status, sent.body.data.status]).toEqual([200, 'succeeded']);
  const delivery = sent.body.data.id;
  expect((await call('GET', `${path}/deliveries`)).body.data).toMatchObject([{ id: delivery }]);
  expect((await call('POST', `${path}/deliveries/${delivery}/retry`)).status).toBe(200);
  expect((await call('GET', `${path}/explain?event=${delivery}`)).body.data.reason).toBe('delivered');
  const recovery = await call('POST', `${path}/recover`, { since: new Date(Date.now() - 60_000).toISOString() });
  expect(recovery.status).toBe(202);
  expect((await call('GET', `${path}/recoveries/${recovery.body.data.id}`)).status).toBe(200);
  expect((await call('GET', '/api/webhooks/events')).status).toBe(200);
  expect((await call('DELETE', path)).status).toBe(204);
  expect(await list(ann.call)).toEqual([]);
});

test('a link opens nothing but the routes of webhooks, not even routes that are open to everyone', async () => {
  const ann = await person('Ann');
  const call = withLink(await app.webhooks.portalLink(ann.id));
  const refused: [string, string, unknown?][] = [
    ['GET', '/api/notes'],
    ['POST', '/api/notes', { text: 'x' }],
    ['GET', '/api/auth/me'],
    ['PATCH', '/api/auth/me', { email: 'eve@example.com' }],
    ['POST', '/api/auth/password', { currentPassword: 'correct horse battery', newPassword: 'another horse battery' }],
    ['POST', '/api/auth/api-keys', { name: 'x', scopes: ['*'] }],
    ['GET', '/api/auth/api-keys'],
    ['GET', '/api/auth/sessions'],
    ['POST', '/api/auth/logout-all', {}],
    ['GET', '/api/realtime?resources=note'],
    ['POST', '/api/realtime/ticket'],
    ['GET', '/api/organisations'],
    ['POST', '/api/shops/link', {}],
    ['GET', '/api/openapi.json'],
  ];
  for (const [method, path, body] of refused) {
    const response = await call(method, path, body);
    expect([method, path, response.status, response.body.error.code]).toEqual([method, path, 403, 'FORBIDDEN']);
  }
  expect((await call('PUT', '/api/webhooks')).status).toBe(405);
});

test('a link never reaches the endpoints of other users', async () => {
  const [ann, eve] = [await person('Ann'), await person('Eve')];
  const { id } = await create(ann);
  const call = withLink(await app.webhooks.portalLink(eve.id));
  expect(await list(call)).toEqual([]);
  for (const [method, rest] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['POST', '/rotate-secret'],
    ['POST', '/test'],
    ['GET', '/deliveries'],
    ['POST', '/deliveries/6b019b8ee52d2ecd8e5ae74e/retry'],
    ['POST', '/recover'],
    ['GET', '/recoveries/6b019b8ee52d2ecd8e5ae74e'],
    ['GET', '/explain?event=6b019b8ee52d2ecd8e5ae74e'],
  ] as const) {
    const { status } = await call(method, `/api/webhooks/${id}${rest}`, method === 'PATCH' ? {} : undefined);
    expect([method, rest, status]).toEqual([method, rest, 404]);
  }
  await expect(app.webhooks.portalLink(eve.id, { endpointId: id })).rejects.toThrow('the user has no endpoint');
});

test('a link for one endpoint reaches neither the other endpoints of its user nor events that only they received', async () => {
  const ann = await person('Ann');
  const [first, second] = [await create(ann), await create(ann, { events: ['note.created'] })];
  const { body } = await ann.call('POST', `/api/webhooks/${second.id}/test`);
  const call = withLink(await app.webhooks.portalLink(ann.id, { endpointId: first.id }));
  expect(await list(call)).toEqual([first.id]);
  for (const rest of ['', '/deliveries', `/explain?event=${body.data.id}`])
    expect((await call('GET', `/api/webhooks/${second.id}${rest}`)).status).toBe(404);
  expect((await call('GET', `/api/webhooks/${first.id}/explain?event=${body.data.id}`)).status).toBe(404);
  const retried = await call('POST', `/api/webhooks/${first.id}/deliveries/${body.data.id}/retry`);
  expect(retried.status).toBe(404);
  const created = await call('POST', '/api/webhooks', { url: receiver.url, events: ['*'] });
  expect([created.status, created.body.error.message]).toEqual([403, 'This link is for a single webhook']);
  expect((await call('DELETE', `/api/webhooks/${second.id}`)).status).toBe(404);
});

test('a link reaches endpoints of scope global only if it says so, and only if the policy allows them', async () => {
  const ann = await person('Ann');
  const { id } = await create(ann, { scope: 'global' });
  const narrow = withLink(await app.webhooks.portalLink(ann.id));
  expect(await list(narrow)).toEqual([]);
  expect((await narrow('GET', `/api/webhooks/${id}`)).status).toBe(404);
  const refused = await narrow('POST', '/api/webhooks', { url: receiver.url, events: ['*'], scope: 'global' });
  expect(refused.status).toBe(403);
  await expect(app.webhooks.portalLink(ann.id, { endpointId: id })).rejects.toThrow('includeGlobal');
  const wide = withLink(await app.webhooks.portalLink(ann.id, { includeGlobal: true }));
  expect(await list(wide)).toEqual([id]);
});

test('a malformed token, a token of another app, and an altered token get a 401 in the shape of all errors', async () => {
  const ann = await person('Ann');
  const token = tokenOf(await app.webhooks.portalLink(ann.id));
  const foreign = createKeyring([Buffer.alloc(32, 7).toString('base64')]);
  const own = createKeyring([env.SVC_ENCRYPTION_KEYS ?? Buffer.alloc(32, 9).toString('base64')]);
  const fields = JSON.stringify([ann.id, ann.id, Date.now() + 60_000, 'x'.repeat(32), null, null, true]);
  const tokens = [
    'svc_wp_',
    'svc_wp_x',
    `${token}x`,
    token.slice(0, -4),
    token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
    `svc_wp_${foreign.encrypt(fields, 'webhooks/portal/token')}`,
    // A stored ciphertext of the same key, for another purpose.
    `svc_wp_${own.encrypt(fields, `webhook_endpoints/secret/${ann.id}`)}`,
  ];
  for (const one of tokens) {
    const { status, body } = await createClient(url, one)('GET', '/api/webhooks');
    expect([one, status, body.error]).toEqual([
      one,
      401,
      { code: 'UNAUTHORIZED', message: expect.any(String), requestId: expect.any(String) },
    ]);
  }
});

test('a link ends with the session that requested it', async () => {
  const ann = await person('Ann');
  const requested = await ann.call('POST', '/api/shops/link');
  const call = withLink(requested.body.data);
  expect(await list(call)).toEqual([]);
  expect((await ann.call('POST', '/api/auth/logout-all', {})).status).toBeLessThan(300);
  expect(await list(call)).toBe('UNAUTHORIZED');
});

test('a link that ends while its request is handled neither creates nor changes an endpoint', async () => {
  for (const end of ['/api/auth/logout-all', '/api/auth/password'] as const) {
    const ann = await person('Ann');
    const { id } = await create(ann);
    const call = withLink((await ann.call('POST', '/api/shops/link')).body.data);
    const body =
      end === '/api/auth/logout-all' ? {} : { currentPassword: PASSWORD, newPassword: 'another horse battery' };
    duringRequest = async () => {
      duringRequest = async () => undefined;
      expect((await ann.call('POST', end, body)).status).toBeLessThan(300);
    };
    const refused =
      end === '/api/auth/logout-all'
        ? await call('POST', '/api/webhooks', { url: receiver.url, events: ['*'] })
        : await call('PATCH', `/api/webhooks/${id}`, { url: `${receiver.url}/eve` });
    expect([end, refused.status]).toEqual([end, 401]);
    const { body: found } = await createClient(url, await signInAgain(ann, end))('GET', '/api/webhooks');
    expect(found.data.map((endpoint: { url: string }) => endpoint.url)).toEqual([receiver.url]);
  }
});

test('a link that no session requested ends with the password, and when its user is disabled or deleted', async () => {
  for (const end of [
    ({ call }: Person) =>
      call('POST', '/api/auth/password', {
        currentPassword: 'correct horse battery',
        newPassword: 'another horse battery',
      }),
    ({ id }: Person) => app.service('user').update(id, { status: 'disabled' }),
    ({ id }: Person) => app.service('user').delete(id),
  ]) {
    const ann = await person('Ann');
    const call = withLink(await app.webhooks.portalLink(ann.id));
    expect(await list(call)).toEqual([]);
    await end(ann);
    expect(await list(call)).toBe('UNAUTHORIZED');
  }
});

test('an API key cannot obtain a link for its own user, because the link could exceed its scopes', async () => {
  const ann = await person('Ann');
  const created = await ann.call('POST', '/api/auth/api-keys', {
    name: 'script',
    scopes: ['webhooks:write', 'shops:write'],
  });
  const key = createClient(url, created.body.data.key);
  expect((await key('POST', '/api/shops/link', {})).status).toBe(403);
  const bob = await person('Bob');
  const forBob = await key('POST', '/api/shops/link-for-anyone', { id: bob.id });
  expect([forBob.status, await list(withLink(forBob.body.data))]).toEqual([200, []]);
});

test('a link neither binds endpoints to a key nor lifts the binding to one', async () => {
  const ann = await person('Ann');
  const created = await ann.call('POST', '/api/auth/api-keys', { name: 'script', scopes: ['*'] });
  const key = createClient(url, created.body.data.key);
  const { body } = await key('POST', '/api/webhooks', { url: receiver.url, events: ['*'] });
  const path = `/api/webhooks/${body.data.id}`;
  const call = withLink(await app.webhooks.portalLink(ann.id));
  expect((await call('PATCH', path, { apiKeyId: null })).status).toBe(403);
  expect((await call('PATCH', path, { description: 'x' })).body.data.apiKeyId).toBe(body.data.apiKeyId);
  const own = await call('POST', '/api/webhooks', { url: receiver.url, events: ['*'] });
  expect(own.body.data.apiKeyId).toBeUndefined();
});

test('the audit trail names the user as the actor, and the link as the means', async () => {
  const [ann, admin] = [await person('Ann'), await person('Root', ['admin'])];
  const call = withLink(await app.webhooks.portalLink(ann.id));
  const { body } = await call('POST', '/api/webhooks', { url: receiver.url, events: ['*'] });
  const entry = await vi.waitUntil(async () => {
    const { body: found } = await admin.call('GET', `/api/admin/audit?record=${body.data.id}&action=webhook.created`);
    return found.data[0];
  });
  expect(entry).toMatchObject({ user: ann.id, via: 'portal', credential: expect.stringMatching(/^[0-9a-f]{24}$/) });
});

test('without the setting there is neither a page nor a link, and the error says how to switch the portal on', async () => {
  const off = createApp({ resources: [defineUser()], extensions: [webhooks()] }, env);
  await expect(off.webhooks.portalLink('6b019b8ee52d2ecd8e5ae74e')).rejects.toThrow('The webhook portal is off');
  await off.close();
});
