import { describe, expect, test, vi } from 'vitest';
import { adminConsole, apiKeys, audit, defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { createClient, startTestApp } from '../../../support/app.ts';

const note = defineResource('note', {
  fields: { text: f.text(), pin: f.string().encrypted(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const { app, call, person, url } = await startTestApp(
  {
    resources: [defineUser(), note],
    settings: { rateLimit: { enabled: false } },
    extensions: [
      audit(),
      apiKeys(),
      webhooks({ allowPrivate: true, requireHttps: false, retrySchedule: [] }),
      adminConsole({ production: true }),
    ],
  },
  {
    roles: 'all',
    env: () => ({
      NODE_ENV: 'production',
      DRAIN_DELAY_MS: '0',
      APP_URL: 'https://api.example.com',
      SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
      LOG_LEVEL: 'silent',
    }),
  },
);
const TAB = '/console/api/webhooks';
const REFUSING = 'http://127.0.0.1:1/';
const admin = await person('Root', ['user', 'admin']);
const ada = await person('Ada');
const { body: made } = await ada.call('POST', '/api/webhooks', { url: REFUSING, events: ['note.*'] });
const endpoint: string = made.data.id;
await ada.call('POST', '/api/notes', { text: 'x', pin: 'door word' });
const readDelivery = async () => (await admin.call('GET', `${TAB}/deliveries`)).body.data[0];
await vi.waitUntil(async () => (await readDelivery())?.status === 'failed', { timeout: 60_000, interval: 50 });
const delivery: string = (await readDelivery()).id;

const since = new Date(Date.now() - 3_600_000).toISOString();
const ROUTES: [method: string, path: string, body?: unknown][] = [
  ['GET', '/facts'],
  ['GET', '/overview'],
  ['GET', '/endpoints'],
  ['POST', '/endpoints', { owner: ada.id, url: REFUSING, events: ['note.*'] }],
  ['GET', `/endpoints/${endpoint}`],
  ['PATCH', `/endpoints/${endpoint}`, { enabled: false }],
  ['DELETE', `/endpoints/${endpoint}`],
  ['GET', `/endpoints/${endpoint}/statistics`],
  ['POST', `/endpoints/${endpoint}/rotate-secret`, {}],
  ['POST', `/endpoints/${endpoint}/test`],
  ['POST', `/endpoints/${endpoint}/recover`, { since }],
  ['GET', `/endpoints/${endpoint}/recoveries/${endpoint}`],
  ['GET', `/endpoints/${endpoint}/deliveries`],
  ['GET', '/deliveries'],
  ['GET', `/deliveries/${delivery}`],
  ['POST', `/deliveries/${delivery}/reveal`],
  ['POST', `/deliveries/${delivery}/retry`],
  ['GET', `/explain?endpoint=${endpoint}&event=${delivery}`],
  ['GET', '/events'],
  ['GET', '/event?name=note.created'],
];

describe.each(ROUTES)('%s %s', (method, path, body) => {
  test('is refused without a session of an administrator', async () => {
    expect((await call(method, TAB + path, body)).status).toBe(401);
    expect((await ada.call(method, TAB + path, body)).body.error.code).toBe('FORBIDDEN');
    const { body: key } = await admin.call('POST', '/api/auth/api-keys', { name: 'key', scopes: ['*'] });
    const { status } = await createClient(url, key.data.key)(method, TAB + path, body);
    expect(status).toBe(403);
    await admin.call('DELETE', `/api/auth/api-keys/${key.data.id}`);
  });
});

test('the receiver does not exist in production', async () => {
  for (const path of ['/receiver', '/receiver/requests/0123456789abcdef'])
    expect((await admin.call('GET', TAB + path)).status).toBe(404);
  expect((await admin.call('POST', `${TAB}/receiver/endpoints`, { owner: ada.id, events: ['*'] })).status).toBe(404);
  expect((await call('POST', '/console/receiver/0123456789abcdef', {})).status).toBe(404);
  expect((await admin.call('GET', `${TAB}/facts`)).body.data.hasReceiver).toBe(false);
});

type Entry = { action: string; resource: string; record: string | null; user: string; via: string; details: object };

test('every action is in the audit trail with its administrator, and so is the change of the endpoint', async () => {
  const act = async (method: string, path: string, body?: unknown) => {
    const { status } = await admin.call(method, TAB + path, body);
    expect([path, status < 300]).toEqual([path, true]);
  };
  const { body: created } = await admin.call('POST', `${TAB}/endpoints`, {
    owner: ada.id,
    url: `${REFUSING}?token=secret`,
    events: ['note.created'],
  });
  await act('PATCH', `/endpoints/${endpoint}`, { description: 'x' });
  await act('POST', `/endpoints/${endpoint}/rotate-secret`, {});
  await act('POST', `/endpoints/${endpoint}/test`);
  await act('POST', `/deliveries/${delivery}/reveal`);
  await act('POST', `/deliveries/${delivery}/retry`);
  await act('POST', `/endpoints/${endpoint}/recover`, { since });
  await act('PATCH', `/endpoints/${endpoint}`, { enabled: false });
  await act('DELETE', `/endpoints/${endpoint}`);

  const read = async () => {
    const { body } = await admin.call('GET', '/api/admin/audit?resource=webhook&limit=200');
    return body.data as Entry[];
  };
  await expect
    .poll(async () => (await read()).map(({ action }) => action).toSorted(), { timeout: 60_000 })
    .toEqual(
      [
        'console.endpointCreated',
        'console.endpointUpdated',
        'console.secretRotated',
        'console.testSent',
        'console.deliveryRevealed',
        'console.deliveryRetried',
        'console.recoveryStarted',
        'console.endpointUpdated',
        'console.endpointDeleted',
        // By Ada, before.
        'webhook.created',
        'webhook.created',
        'webhook.updated',
        'webhook.secret_rotated',
        'webhook.updated',
        'webhook.disabled',
        'webhook.deleted',
      ].toSorted(),
    );
  const entries = await read();
  const text = JSON.stringify(entries);
  for (const secret of ['token=secret', created.data.secret, 'whsec_', 'door word']) expect(text).not.toContain(secret);
  for (const { action, user, via } of entries.filter(({ record }) => record !== created.data.id).slice(0, -1)) {
    expect([action, user]).toEqual([action, admin.id]);
    expect([action, via]).toEqual([action, 'console']);
  }
  for (const action of ['console.deliveryRevealed', 'console.deliveryRetried'])
    expect(entries.find((entry) => entry.action === action)).toMatchObject({
      record: endpoint,
      details: { delivery, owner: ada.id },
    });
  expect(entries.find(({ action }) => action === 'console.endpointUpdated')).toMatchObject({
    record: endpoint,
    details: { fields: ['enabled'] },
  });
  expect(
    entries.find(({ record, action }) => record === created.data.id && action === 'webhook.created'),
  ).toMatchObject({
    user: admin.id,
    via: 'console',
    details: { owner: ada.id, host: '127.0.0.1:1' },
  });
});

test('an administrator who loses the role can no longer act', async () => {
  const { body } = await ada.call('POST', '/api/webhooks', { url: REFUSING, events: ['note.*'] });
  const { id } = body.data;
  await app.service('user').update(admin.id, { roles: ['user'] });
  expect((await admin.call('DELETE', `${TAB}/endpoints/${id}`)).status).toBe(403);
  expect((await ada.call('GET', `/api/webhooks/${id}`)).status).toBe(200);
});
