import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { createApp, defineUser } from '../../../src/index.ts';
import { readEnvironment } from '../../../src/platform/settings/environment.ts';
import { readSettings } from '../../../src/platform/settings/settings.ts';
import { createDefaultTransports } from '../../../src/push/index.ts';
import { startApnsServer } from '../../fakes/push/apns-server.ts';
import { createBrowser } from '../../fakes/push/browser.ts';
import { fcmError, startFcmServer } from '../../fakes/push/fcm-server.ts';
import { redirect } from '../../fakes/push/redirect.ts';
import { CA_FILE, ca } from '../../fakes/push/tls.ts';
import { startWebPushServer } from '../../fakes/push/web-push-server.ts';
import { app as blog } from '../../fixtures/blog/app.ts';
import { createClient } from '../../support/app.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';
import { BARE_ENV, startBlog } from '../../support/processes/app-process.ts';
import { VARIABLES as APNS } from './apns/redirected.ts';
import { content, device, PUSH_ID } from './content.ts';
import { SERVICE_ACCOUNT } from './fcm/redirected.ts';
import { vapid } from './web-push/local.ts';

const SERVERS = { NODE_ENV: 'test', DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x', REDIS_URL: 'redis://127.0.0.1:1' };
const FCM = { FCM_SERVICE_ACCOUNT: JSON.stringify(SERVICE_ACCOUNT) };
const VAPID = {
  VAPID_PUBLIC_KEY: vapid.publicKey,
  VAPID_PRIVATE_KEY: vapid.privateKey,
  VAPID_SUBJECT: vapid.subject,
};
const ALL = { ...APNS, ...FCM, ...VAPID };

const transportsOf = (variables: Record<string, string>) =>
  createDefaultTransports(readEnvironment({ ...SERVERS, ...variables }), readSettings({}));

test.each<[string, Record<string, string>, string[]]>([
  ['nothing', {}, []],
  ['all', ALL, ['apns', 'fcm', 'web-push']],
  ['FCM', FCM, ['fcm']],
  ['APNs', APNS, ['apns']],
  ['VAPID', VAPID, ['web-push']],
])('the credentials of %s create the transports %3$j', async (_, variables, names) => {
  const transports = transportsOf(variables);
  expect(transports.map((transport) => transport.name)).toEqual(names);
  await Promise.all(transports.map((transport) => transport.close!()));
});

test.each([
  ['production', 'api.push.apple.com'],
  ['development', 'api.sandbox.push.apple.com'],
])('in %s the APNs host is %s unless APNS_PRODUCTION is set', async (nodeEnv, host) => {
  const fakes = {
    'api.push.apple.com': await startApnsServer(),
    'api.sandbox.push.apple.com': await startApnsServer(),
  };
  const undo = redirect(Object.fromEntries(Object.entries(fakes).map(([name, { address }]) => [name, address])), ca);
  onTestFinished(async () => {
    undo();
    for (const fake of Object.values(fakes)) await fake.close();
  });
  const production = {
    APP_URL: 'https://api.example.com',
    SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  };
  const [apns] = transportsOf({ ...APNS, ...production, NODE_ENV: nodeEnv });
  const results = await apns!.send(content(), [device('ios', 'ab'.repeat(32))], { id: PUSH_ID });
  await apns!.close!();
  expect(results).toMatchObject([{ ok: true }]);
  const reached = Object.entries(fakes).filter(([, { requests }]) => requests.length > 0);
  expect(reached.map(([name]) => name)).toEqual([host]);
});

describe('with all three, a device goes', () => {
  const first = (platform: 'ios' | 'android' | 'web', token: string) =>
    transportsOf(ALL).find((transport) => transport.accepts!(device(platform, token)))?.name;

  test.each([
    ['ios', 'ab'.repeat(32), 'apns'],
    ['ios', 'cXYZ:APA91b-of-an-iOS-app', 'fcm'],
    ['android', 'cXYZ:APA91b', 'fcm'],
    ['web', '{}', 'web-push'],
  ] as const)('of %s with the token %s to %s', (platform, token, name) => {
    expect(first(platform, token)).toBe(name);
  });
});

test('one error lists every problem with every credential, together with the other errors of the start', () => {
  const wrong = {
    ...SERVERS,
    PORT: '70000',
    FCM_SERVICE_ACCOUNT: '{}',
    APNS_KEY: '/nowhere.p8',
    VAPID_PUBLIC_KEY: vapid.publicKey,
  };
  expect(() => createApp({ resources: [defineUser()] }, { ...wrong, PORT: '0' })).toThrow(
    /APNS_TOPIC[\s\S]*APNS_KEY_ID[\s\S]*APNS_TEAM_ID[\s\S]*APNS_KEY is neither[\s\S]*FCM_SERVICE_ACCOUNT is malformed[\s\S]*VAPID_PRIVATE_KEY[\s\S]*VAPID_SUBJECT/,
  );
});

test('credentials are ignored if an app lists its transports', async () => {
  const app = createApp({ resources: [defineUser()], transports: [] }, { ...SERVERS, FCM_SERVICE_ACCOUNT: '{}' });
  await app.close();
});

test('an app with all credentials loads no provider library unless it sends', () => {
  const program = `
    import Module from 'node:module';
    import { createApp, defineUser } from './src/index.ts';
    const app = createApp({ resources: [defineUser()] }, process.env);
    const packages = Object.keys(Module._cache).map((path) => /node_modules.((?:@[^/]+.)?[^/]+)/.exec(path)?.[1]);
    console.log(JSON.stringify([...new Set(packages)]));
    await app.close();`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    env: { ...BARE_ENV, ...SERVERS, ...ALL },
    encoding: 'utf8',
  });
  const loaded: string[] = JSON.parse(stdout || stderr);
  expect(loaded).toContain('express');
  expect(loaded.filter((name) => /firebase|node-apn|web-push|google/.test(name))).toEqual([]);
});

const database = await createTestDatabase();
const [fcm, apns, web] = await Promise.all([startFcmServer(), startApnsServer(), startWebPushServer()]);
const env = {
  NODE_ENV: 'test',
  DATABASE_URL: database.databaseUrl,
  REDIS_URL: database.redisUrl,
  REDIS_PREFIX: database.redisPrefix,
  ...ALL,
  APNS_PRODUCTION: 'true',
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
