import { afterAll, beforeEach, expect, test } from 'vitest';
import { startApnsServer } from '../../fakes/push/apns-server.ts';
import { createBrowser } from '../../fakes/push/browser.ts';
import { fcmError, startFcmServer } from '../../fakes/push/fcm-server.ts';
import { CA_FILE } from '../../fakes/push/tls.ts';
import { startWebPushServer } from '../../fakes/push/web-push-server.ts';
import { app as blog } from '../../fixtures/blog/app.ts';
import { createClient } from '../../support/app.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { startBlog } from '../../support/processes/app-process.ts';
import { VARIABLES as APNS } from './apns/redirected.ts';
import { SERVICE_ACCOUNT } from './fcm/redirected.ts';
import { vapid } from './web-push/local.ts';

const database = await createTestDatabase();
const [fcm, apns, web] = await Promise.all([startFcmServer(), startApnsServer(), startWebPushServer()]);
const env = {
  NODE_ENV: 'test',
  DATABASE_URL: database.databaseUrl,
  REDIS_URL: database.redisUrl,
  REDIS_PREFIX: database.redisPrefix,
  ...APNS,
  APNS_PRODUCTION: 'true',
  FCM_SERVICE_ACCOUNT: JSON.stringify(SERVICE_ACCOUNT),
  VAPID_PUBLIC_KEY: vapid.publicKey,
  VAPID_PRIVATE_KEY: vapid.privateKey,
  VAPID_SUBJECT: vapid.subject,
};
/** The environment with which a worker process reaches the fakes; the process itself has no test code. */
const redirected = {
  ...env,
  LOG_LEVEL: 'debug',
  NODE_OPTIONS: `--import ${new URL('../../fakes/push/redirect.ts', import.meta.url).href}`,
  PUSH_FAKE: [
    `fcm.googleapis.com=${fcm.address}`,
    `oauth2.googleapis.com=${fcm.address}`,
    `api.push.apple.com=${apns.address}`,
  ].join(),
  PUSH_FAKE_CA: CA_FILE,
};
const app = blog(env);
afterAll(async () => {
  await app.close();
  await Promise.all([fcm.close(), apns.close(), web.close()]);
  await database.drop();
});
await app.migrate({ mode: 'sync' });
const { url } = await app.start({ port: 0, roles: ['web'] });
const patient = { timeout: 60_000, interval: 25 };
beforeEach(() => {
  fcm.reply = () => undefined;
});

test('one push reaches each kind of phone and a browser through the real libraries; a dead device is removed; no token leaks', {
  timeout: 240_000,
}, async () => {
  fcm.reply = ({ message }) =>
    message.token.includes('gone') ? fcmError(404, 'NOT_FOUND', 'UNREGISTERED', `no ${message.token}`) : undefined;
  const worker = startBlog('push-worker', redirected);
  const call = createClient(url);
  const registered = await call('POST', '/api/auth/register', {
    name: 'Ada',
    email: 'ada@example.com',
    password: 'a bell rings at noon',
  });
  const ada = createClient(url, registered.body.data.token);
  const browser = createBrowser();
  const tokens = {
    android: 'android-registration-token-1',
    gone: 'android-registration-token-that-is-gone',
    ios: 'c3'.repeat(32),
    web: browser.token(`${web.origin}/push/subscription-of-ada`),
  };
  const ids: Record<string, string> = {};
  for (const [name, token] of Object.entries(tokens)) {
    const platform = name === 'gone' ? 'android' : name;
    ids[name] = (await ada('POST', '/api/auth/devices', { token, platform })).body.data.id;
  }

  const { id } = await app.push.enqueue({ to: registered.body.data.user.id, title: 'Hi', url: '/x' });
  const devices = async () =>
    (await ada('GET', '/api/auth/devices')).body.data.map((device: { id: string }) => device.id).sort();
  await expect.poll(devices, patient).toEqual([ids.android, ids.ios, ids.web].sort());

  await expect.poll(() => web.requests.length, patient).toBe(1);
  await expect.poll(() => apns.requests.at(-1)?.token, patient).toBe(tokens.ios);
  const sent = fcm.requests.filter(({ validateOnly }) => !validateOnly);
  expect(sent.map(({ message }) => message.token).sort()).toEqual([tokens.android, tokens.gone]);
  expect(apns.requests.at(-1)).toMatchObject({ token: tokens.ios, payload: { pushId: id, url: '/x' } });
  expect(JSON.parse(browser.decrypt(web.requests[0]!.body))).toMatchObject({ pushId: id, title: 'Hi', url: '/x' });

  await expect.poll(() => worker.output(), patient).toContain(id);
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
  for (const token of [tokens.android, tokens.gone, tokens.ios, 'subscription-of-ada']) {
    expect(worker.output()).not.toContain(token);
  }
});

test('a worker whose credentials are refused does not start, and its error names the credentials', {
  timeout: 240_000,
}, async () => {
  fcm.reply = () => fcmError(403, 'PERMISSION_DENIED', undefined, 'Permission denied');
  const worker = startBlog('push-worker', redirected);
  expect(await worker.ended).toBe(1);
  expect(worker.output()).toMatch(
    /FCM refuses the credentials of project "demo": InvalidCredentials: Permission denied/,
  );
  expect(worker.output()).not.toMatch(/PRIVATE KEY| {4}at /);
});
