import { expect, test } from 'vitest';
import type { WebhookOperations } from '../../../../src/extensions/webhooks/index.ts';
import { adminConsole, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import type { App } from '../../../../src/runtime/create-app.ts';
import { startTestApp } from '../../../support/app.ts';
import { startWebhooksConsole } from './app.ts';

const { ask, receiver, running, settle, subscribe } = await startWebhooksConsole();
const { person, app, url } = running;

test('the list has the endpoints of all users with their last day, newest first, filtered and page by page', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const first = await subscribe(ada, ['note.*'], `${receiver.url}/First`);
  const second = await subscribe(bob, ['note.*'], `${receiver.url}/second`);
  const third = await subscribe(ada, ['note.created'], `${receiver.url}/third`);
  await ada.call('PATCH', `/api/webhooks/${third}`, { enabled: false });
  await ada.call('POST', '/api/notes', { text: 'x' });
  await settle(first, 'succeeded');

  const ids = async (query: string) => {
    const { body } = await ask('GET', `/endpoints?${query}`);
    return body.data.map(({ id }: { id: string }) => id);
  };
  expect(await ids('')).toEqual([third, second, first]);
  expect(await ids(`owner=${ada.id}`)).toEqual([third, first]);
  expect(await ids('state=disabled')).toEqual([third]);
  expect(await ids('state=active')).toEqual([second, first]);
  expect(await ids('q=FIRST')).toEqual([first]);
  expect(await ids('q=%25')).toEqual([]);

  const { body } = await ask('GET', '/endpoints?limit=2');
  expect(await ids(`limit=2&after=${body.meta.next}`)).toEqual([first]);
  const [row] = (await ask('GET', '/endpoints?q=first')).body.data;
  expect(row).toMatchObject({ owner: ada.id, url: `${receiver.url}/First`, status: 'active' });
  expect(row.lastDay.bars).toHaveLength(24);
  expect(row.lastDay.bars.at(-1)).toMatchObject({ succeeded: 1, failed: 0 });
  expect(JSON.stringify(body)).not.toContain('whsec_');

  const { body: overview } = await ask('GET', '/overview?range=twoWeeks');
  expect(overview.data.endpoints).toEqual({ active: 2, retrying: 0, failing: 0, disabled: { manual: 1 } });
  expect(overview.data.queue).toMatchObject({ due: 0, inFlight: 0 });
  expect(overview.data.chart.bars).toHaveLength(14);
  expect(overview.data.chart.bars.at(-1).succeeded).toBe(1);
  for (const query of ['state=x', 'owner=x', 'after=x', 'limit=0', 'limit=1000', 'nonsense=1', 'q=a&q=b'])
    expect((await ask('GET', `/endpoints?${query}`)).status, query).toBe(400);
});

test('an endpoint is created, changed, disabled and deleted for its owner, under the rules of the API', async () => {
  const eve = await person('Eve');
  const input = { owner: eve.id, url: receiver.url, events: ['note.created'] };
  const { status, body } = await ask('POST', '/endpoints', input);
  expect([status, body.data.secret]).toEqual([201, expect.stringMatching(/^whsec_/)]);
  const { id, secret } = body.data;
  expect((await eve.call('GET', `/api/webhooks/${id}`)).body.data).toMatchObject({ url: receiver.url });
  const mailsTo = async () => (await app.captured.mails()).filter(({ to }) => to === eve.email);
  await expect.poll(async () => (await mailsTo())[0]?.subject, { timeout: 30_000 }).toMatch(/webhook/i);

  const path = `/endpoints/${id}`;
  expect((await ask('PATCH', path, { events: ['note.*'], enabled: false })).body.data).toMatchObject({
    events: ['note.*'],
    status: 'disabled',
    disabledReason: 'manual',
  });
  expect((await ask('POST', `${path}/test`)).body.error.message).toContain('disabled');
  await ask('PATCH', path, { enabled: true });
  expect((await ask('POST', `${path}/test`)).body.data).toMatchObject({ status: 'succeeded', response: null });
  const rotated = await ask('POST', `${path}/rotate-secret`, {});
  expect(rotated.body.data.secret).not.toBe(secret);
  const { body: read } = await ask('GET', path);
  expect(read.data).toMatchObject({
    owner: eve.id,
    isOwnerActive: true,
    waiting: 0,
    oldSecretUntil: expect.any(String),
  });
  expect(read.data).not.toHaveProperty('secret');

  // The limits of the owner.
  await subscribe(eve);
  await subscribe(eve);
  expect((await ask('POST', '/endpoints', input)).body.error.code).toBe('LIMIT_REACHED');
  expect((await ask('POST', '/endpoints', { ...input, scope: 'global' })).body.error.code).toBe('FORBIDDEN');
  const refused = await ask('POST', '/endpoints', { owner: '0'.repeat(24), url: 'ftp://x', events: [] });
  expect(Object.keys(refused.body.error.details)).toEqual(expect.arrayContaining(['url', 'events']));
  const unknown = await ask('POST', '/endpoints', { ...input, owner: '0'.repeat(24) });
  expect(unknown.body.error.details).toEqual({ owner: 'There is no user with this id' });
  expect((await ask('PATCH', path, { apiKeyId: null })).status).toBe(422);

  expect((await ask('DELETE', path)).status).toBe(204);
  for (const [method, rest] of [
    ['GET', ''],
    ['PATCH', ''],
    ['DELETE', ''],
    ['GET', '/statistics'],
    ['POST', '/test'],
    ['GET', '/deliveries'],
  ])
    expect((await ask(method!, path + rest, method === 'PATCH' ? { enabled: true } : undefined)).status).toBe(404);
  expect((await ask('GET', '/endpoints/__proto__')).status).toBe(404);
});

test('an endpoint that was disabled because credentials ended is not enabled in the console', async () => {
  const mia = await person('Mia');
  const { body: key } = await mia.call('POST', '/api/auth/api-keys', { name: 'key', scopes: ['*'] });
  const { body } = await running.call(
    'POST',
    '/api/webhooks',
    { url: receiver.url, events: ['note.*'] },
    { authorization: `Bearer ${key.data.key}` },
  );
  const path = `/endpoints/${body.data.id}`;
  await ask('PATCH', path, { enabled: false });
  await mia.call('DELETE', `/api/auth/api-keys/${key.data.id}`);
  const refused = await ask('PATCH', path, { enabled: true });
  expect([refused.status, refused.body.error.message]).toEqual([403, expect.stringContaining('only the owner')]);
  expect((await ask('GET', path)).body.data).toMatchObject({ enabled: false, apiKeyId: key.data.id });
});

test('endpoints of an owner whose account is disabled can be read and deleted, but not changed', async () => {
  const tom = await person('Tom');
  const id = await subscribe(tom);
  await app.service('user').update(tom.id, { status: 'disabled' });
  expect((await ask('GET', `/endpoints/${id}`)).body.data.isOwnerActive).toBe(false);
  const changes = [ask('PATCH', `/endpoints/${id}`, { enabled: false }), ask('POST', `/endpoints/${id}/test`)];
  for (const { body } of await Promise.all(changes)) expect(body.error.code).toBe('CONFLICT');
  expect((await ask('DELETE', `/endpoints/${id}`)).status).toBe(204);
});

test('failed deliveries are recovered, with progress', async () => {
  const ann = await person('Ann');
  const id = await subscribe(ann);
  receiver.answer(500);
  await ann.call('POST', '/api/notes', { text: 'lost' });
  const { id: delivery } = await settle(id, 'failed');
  await ask('POST', `/deliveries/${delivery}/retry`);
  await expect
    .poll(async () => (await ask('GET', `/deliveries/${delivery}`)).body.data, { timeout: 30_000 })
    .toMatchObject({ status: 'failed', attempts: 2, error: 'status 500' });
  receiver.answer(204);
  const since = new Date(Date.now() - 60_000).toISOString();
  const started = await ask('POST', `/endpoints/${id}/recover`, { since });
  expect([started.status, started.body.data]).toEqual([202, expect.objectContaining({ since, total: 1, resent: 1 })]);
  await settle(id, 'succeeded');
  const recovery = async () => (await ask('GET', `/endpoints/${id}/recoveries/${started.body.data.id}`)).body.data;
  await expect.poll(async () => (await recovery()).status, { timeout: 30_000 }).toBe('finished');
  expect((await ask('POST', `/endpoints/${id}/recover`, { since: 'yesterday' })).status).toBe(422);
});

test('the routes of the tab accept requests of the page of the console only', async () => {
  const foreign = await fetch(`${url}/console/api/webhooks/endpoints`, { headers: { origin: 'https://evil.example' } });
  expect(foreign.status).toBe(403);
});

test('an endpoint whose last attempt failed is retrying for people, everywhere, and active in the API', async () => {
  const note = defineResource('note', { fields: { text: f.text(), owner: f.ref('user').owner() } });
  const retrying = await startTestApp(
    {
      resources: [defineUser(), note],
      extensions: [webhooks({ retrySchedule: ['1h'], pollMs: 100 }), adminConsole()],
    },
    { roles: 'all' },
  );
  const kim = await retrying.person('Kim');
  const create = async (events: string[]) =>
    (await kim.call('POST', '/api/webhooks', { url: receiver.url, events })).body.data.id;
  const [refused, idle] = [await create(['note.created']), await create(['note.deleted'])];
  const read = async (path: string) => (await retrying.call('GET', `/console/api/webhooks${path}`)).body.data;
  const idsOf = async (state: string) => (await read(`/endpoints?state=${state}`)).map(({ id }: { id: string }) => id);
  expect((await read('/overview')).endpoints).toMatchObject({ active: 2, retrying: 0 });

  receiver.answer(500);
  await kim.call('POST', '/api/notes', { text: 'x' });
  await expect.poll(async () => (await read(`/endpoints/${refused}`)).state, { timeout: 30_000 }).toBe('retrying');
  receiver.answer(204);
  expect([await idsOf('retrying'), await idsOf('active')]).toEqual([[refused], [idle]]);
  expect(await read('/endpoints?state=retrying')).toMatchObject([{ state: 'retrying', status: 'active' }]);
  expect((await read('/overview')).endpoints).toEqual({ active: 1, retrying: 1, failing: 0, disabled: {} });
  const inApi = (await kim.call('GET', `/api/webhooks/${refused}`)).body.data;
  expect(inApi.status).toBe('active');
  // The command line and the doctor say the same.
  const { app: running } = retrying as unknown as { app: { webhooks: WebhookOperations; diagnose: App['diagnose'] } };
  const { endpoints, worst } = await running.webhooks.status();
  expect(endpoints).toEqual({ active: 1, retrying: 1, failing: 0, disabled: {} });
  expect(worst).toMatchObject([{ id: refused, status: 'retrying' }]);
  const { host } = new URL(receiver.url);
  const finding = { level: 'warning', message: `1 webhook endpoint is retrying: ${host} (status 500)` };
  expect(await running.diagnose()).toContainEqual(expect.objectContaining(finding));

  // A delivery that succeeds ends the state, also if it follows within a second.
  await kim.call('POST', `/api/webhooks/${refused}/test`);
  expect((await read(`/endpoints/${refused}`)).state).toBe('active');
  expect((await running.webhooks.status()).endpoints.retrying).toBe(0);
  expect((await running.diagnose()).map(({ message }) => message).join()).not.toContain('webhook endpoint');
  await kim.call('PATCH', `/api/webhooks/${refused}`, { enabled: false });
  expect((await read(`/endpoints/${refused}`)).state).toBe('disabled');
});

/** An app whose policy refuses users. */
const refusing = await startTestApp(
  {
    resources: [defineUser({ roles: ['dev', 'faulty'] })],
    extensions: [
      webhooks({
        policy({ user }) {
          if (user?.roles?.includes('faulty')) throw new Error('the policy failed');
          return user?.roles?.includes('dev') ?? false;
        },
        retrySchedule: [],
      }),
      adminConsole(),
    ],
  },
  { roles: 'all' },
);
/** Sends a request of the tab in that app. */
const askRefusing: typeof ask = (method, path, body) => refusing.call(method, `/console/api/webhooks${path}`, body);
const create = (owner: string) =>
  askRefusing('POST', '/endpoints', { owner, url: receiver.url, events: ['user.deleted'], description: 'x' });

test.each(['user', 'faulty'])(
  'no endpoint is created for a user with the role %s, whom the policy refuses',
  async (role) => {
    const ada = await refusing.person('Ada', ['user', role]);
    const own = await ada.call('POST', '/api/webhooks', { url: receiver.url, events: ['*'] });
    const { status, body } = await create(ada.id);
    expect([own.status, status, body.error.code]).toEqual([403, 403, 'FORBIDDEN']);
    expect(body.error.message).toContain('policy');
    expect((await askRefusing('POST', '/receiver/endpoints', { owner: ada.id, events: ['*'] })).status).toBe(403);
    expect((await askRefusing('GET', `/endpoints?owner=${ada.id}`)).body.data).toEqual([]);
  },
);

test('endpoints of an owner whom the policy no longer allows can be read and deleted, but not changed', async () => {
  const bob = await refusing.person('Bob', ['user', 'dev']);
  const { status, body } = await create(bob.id);
  expect(status).toBe(201);
  const path = `/endpoints/${body.data.id}`;
  const sent = await askRefusing('POST', `${path}/test`);
  expect(sent.body.data.status).toBe('succeeded');
  await refusing.app.service('user').update(bob.id, { roles: ['user'] });

  const since = new Date(Date.now() - 60_000).toISOString();
  const changes: [method: string, path: string, body?: object][] = [
    ['PATCH', path, { events: ['user.deleted'] }],
    ['POST', `${path}/rotate-secret`, {}],
    ['POST', `${path}/test`],
    ['POST', `${path}/recover`, { since }],
    ['POST', `/deliveries/${sent.body.data.id}/retry`],
  ];
  for (const change of changes)
    expect([change[1], (await askRefusing(...change)).body.error?.code]).toEqual([change[1], 'FORBIDDEN']);
  expect((await askRefusing('GET', path)).status).toBe(200);
  expect((await askRefusing('GET', `${path}/deliveries`)).body.data).toHaveLength(1);
  expect((await askRefusing('DELETE', path)).status).toBe(204);
});
