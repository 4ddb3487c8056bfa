import { spawnSync } from 'node:child_process';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createApp, defineUser } from '../../../src/index.ts';
import { readEnvironment } from '../../../src/platform/config/environment.ts';
import { readSettings } from '../../../src/platform/config/settings.ts';
import { createDefaultTransports } from '../../../src/push/index.ts';
import { startApnsServer } from '../../fakes/push/apns-server.ts';
import { redirect } from '../../fakes/push/redirect.ts';
import { ca } from '../../fakes/push/tls.ts';
import { BARE_ENV } from '../../support/processes/app-process.ts';
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
