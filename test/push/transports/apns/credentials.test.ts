import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import { readApnsCredentials } from '../../../../src/push/transports/apns/credentials.ts';
import { createApnsTransport } from '../../../../src/push/transports/apns/index.ts';
import { type ApnsReply, apnsError, startApnsServer } from '../../../fakes/push/apns-server.ts';
import { redirect } from '../../../fakes/push/redirect.ts';
import { ca } from '../../../fakes/push/tls.ts';
import { content, device, PUSH_ID } from '../content.ts';
import { apnsAndFake, credentials, VARIABLES } from './redirected.ts';

const path = (name: string) => fileURLToPath(new URL(`../../../data/tls/${name}`, import.meta.url));
const CERT = path('apns-client.crt');
const CERT_KEY = path('apns-client.key');
const TOPIC = { APNS_TOPIC: 'com.example.app' };

const { apns, fake } = await apnsAndFake();
beforeEach(() => {
  fake.requests.length = 0;
  fake.reply = () => undefined;
});

function read(variables: Record<string, string>, production = true) {
  const faults: string[] = [];
  return { credentials: readApnsCredentials(variables, { production }, (text) => faults.push(text)), faults };
}
const TOKEN = 'b2'.repeat(32);
const send = (transport: typeof apns) => transport.send(content(), [device('ios', TOKEN)], { id: PUSH_ID });

test('with a client certificate the sender is authenticated without a token', async () => {
  const own = createApnsTransport(read({ APNS_CERT: CERT, APNS_CERT_KEY: CERT_KEY, ...TOPIC }).credentials!);
  expect(await send(own)).toMatchObject([{ ok: true }]);
  expect(fake.requests).toMatchObject([{ client: 'Apple Push Services: com.example.app' }]);
  expect(fake.requests[0]!.headers).not.toHaveProperty('authorization');
  await own.close!();
});

test('a certificate that is not valid for the environment is refused before anything is sent; the device is kept', async () => {
  const files = { APNS_CERT: CERT, APNS_CERT_KEY: CERT_KEY, APNS_PRODUCTION: 'false', ...TOPIC };
  const own = createApnsTransport(read(files).credentials!);
  expect(await send(own)).toEqual([
    { ok: false, error: expect.stringMatching(/^InvalidCredentials: .*does not support/), misconfigured: true },
  ]);
  await expect(own.check!()).rejects.toThrow(/^APNs \(sandbox, topic "com.example.app"\): .*does not support/);
  await own.close!();
});

test('the sandbox uses another host', async () => {
  const sandbox = await startApnsServer();
  const undo = redirect({ 'api.sandbox.push.apple.com': sandbox.address }, ca);
  const own = createApnsTransport(read({ ...VARIABLES, APNS_PRODUCTION: 'false' }).credentials!);
  expect(await send(own)).toMatchObject([{ ok: true }]);
  expect(sandbox.requests).toHaveLength(1);
  expect(fake.requests).toEqual([]);
  await own.close!();
  undo();
  await sandbox.close();
});

test('NODE_ENV selects the environment unless APNS_PRODUCTION is set', () => {
  expect(read(VARIABLES, true).credentials?.production).toBe(true);
  expect(read(VARIABLES, false).credentials?.production).toBe(false);
  expect(read({ ...VARIABLES, APNS_PRODUCTION: 'true' }, false).credentials?.production).toBe(true);
});

describe('the check at start', () => {
  test.each<[string, ApnsReply]>([
    ['APNs finds nothing wrong but the token', apnsError(400, 'BadDeviceToken')],
    ['APNs is down', apnsError(503, 'Shutdown')],
    ['the connection breaks', 'reset connection'],
  ])('passes if %s', async (_, reply) => {
    fake.reply = () => reply;
    await expect(apns.check!()).resolves.toBeUndefined();
    expect(fake.requests).toMatchObject([{ token: '0'.repeat(64), headers: { 'apns-push-type': 'background' } }]);
  });

  test.each(['InvalidProviderToken', 'BadEnvironmentKeyInToken', 'TopicDisallowed'])(
    'fails, naming environment and topic, if APNs says %s',
    async (reason) => {
      fake.reply = () => apnsError(reason === 'TopicDisallowed' ? 400 : 403, reason);
      await expect(apns.check!()).rejects.toThrow(
        new RegExp(`^APNs \\(production, topic "com.example.app"\\) refuses the credentials: Invalid\\w+: ${reason}$`),
      );
    },
  );

  test('passes if APNs cannot be reached', async () => {
    const own = createApnsTransport({ ...credentials, production: false });
    const undo = redirect({ 'api.sandbox.push.apple.com': '127.0.0.1:1' }, ca);
    await expect(own.check!()).resolves.toBeUndefined();
    await own.close!();
    undo();
  });
});

describe('the environment', () => {
  test('provides PEMs as files, as text, or as text with \\n for line breaks', () => {
    const pem = readFileSync(CERT, 'utf8') + readFileSync(CERT_KEY, 'utf8');
    expect(read({ APNS_CERT: pem, ...TOPIC })).toMatchObject({
      faults: [],
      credentials: { authentication: { kind: 'certificate' } },
    });
    const oneLine = VARIABLES.APNS_KEY.replaceAll('\n', '\\n');
    expect(read({ ...VARIABLES, APNS_KEY: oneLine }).credentials?.authentication).toMatchObject({
      key: VARIABLES.APNS_KEY,
    });
  });

  const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  });
  test.each<[string, Record<string, string>, RegExp[]]>([
    ['nothing but a topic', TOPIC, [/^Set either APNS_KEY/]],
    ['both ways', { ...VARIABLES, APNS_CERT: CERT }, [/^Set either APNS_KEY/]],
    ['ids that are none', { ...VARIABLES, APNS_KEY_ID: 'x', APNS_TEAM_ID: '' }, [/^APNS_KEY_ID/, /^APNS_TEAM_ID/]],
    ['a topic that is none', { ...VARIABLES, APNS_TOPIC: 'app' }, [/^APNS_TOPIC must be the bundle id/]],
    ['an environment that is none', { ...VARIABLES, APNS_PRODUCTION: 'yes' }, [/^APNS_PRODUCTION must be/]],
    ['a file that is not there', { ...VARIABLES, APNS_KEY: '/nowhere.p8' }, [/^APNS_KEY is neither a PEM nor/]],
    ['a key that is none', { ...VARIABLES, APNS_KEY: '-----BEGIN secret' }, [/^APNS_KEY contains no readable/]],
    ['a key of another kind', { ...VARIABLES, APNS_KEY: String(otherKey) }, [/^APNS_KEY must be an APNs key/]],
    ['a certificate without key', { APNS_CERT: CERT, ...TOPIC }, [/^APNS_CERT contains no readable private key/]],
    [
      'a key of another certificate',
      { APNS_CERT: CERT, APNS_CERT_KEY: String(otherKey), ...TOPIC },
      [/private key does not match the certificate in APNS_CERT/],
    ],
    [
      'a certificate that has expired',
      { APNS_CERT: path('expired.example.com.crt'), APNS_CERT_KEY: path('expired.example.com.key'), ...TOPIC },
      [/^APNS_CERT expired on /],
    ],
  ])('with %s is refused with an error that shows the expected form and no secret', (_, variables, faults) => {
    const found = read(variables).faults;
    expect(found).toEqual(faults.map((fault) => expect.stringMatching(fault)));
    expect(found.join()).not.toMatch(/BEGIN|secret/);
  });
});
