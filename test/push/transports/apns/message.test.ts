import { verify } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import type { PushContent } from '../../../../src/push/message/message.ts';
import { content, device, FULL, PUSH_ID } from '../content.ts';
import { apnsAndFake, publicKey } from './redirected.ts';

const { apns, fake } = await apnsAndFake();
beforeEach(() => {
  fake.requests.length = 0;
});

const TOKEN = 'a1'.repeat(32);
const seconds = () => Math.floor(Date.now() / 1000);

/** The request that APNs receives for a device. */
async function sent(message: PushContent, expiresAt?: number) {
  fake.requests.length = 0;
  const context = { id: PUSH_ID, ...(expiresAt === undefined ? {} : { expiresAt }) };
  await apns.send(message, [device('ios', TOKEN)], context);
  return fake.requests[0]!;
}

test('every field is sent', async () => {
  const before = seconds();
  const { headers, payload, token } = await sent(FULL);
  expect(token).toBe(TOKEN);
  expect(payload).toEqual({
    pushId: PUSH_ID,
    image: 'https://example.com/image.png',
    url: '/orders/1',
    count: 2,
    open: true,
    items: ['a', { b: null }],
    text: 'plain',
    aps: {
      alert: { title: 'Titel', subtitle: 'Untertitel', body: 'Grüße' },
      badge: 3,
      sound: 'chime.caf',
      category: 'ORDER',
      'thread-id': 'orders-1',
      'mutable-content': 1,
    },
  });
  expect(headers).toMatchObject({
    'apns-topic': 'com.example.app',
    'apns-push-type': 'alert',
    'apns-priority': '10',
    'apns-collapse-id': 'order 1',
  });
  const expiry = Number(headers['apns-expiration']);
  expect(expiry).toBeGreaterThanOrEqual(before + 3600);
  expect(expiry).toBeLessThanOrEqual(seconds() + 3600);
});

test('a minimal message has no sound and normal priority, is kept for 28 days, and has the push’s id as collapse id', async () => {
  const before = seconds();
  const { headers, payload } = await sent(content({ sound: false, priority: 'normal', badge: 0 }));
  expect(payload).toEqual({ pushId: PUSH_ID, aps: { alert: { title: 'Hi' }, badge: 0 } });
  expect(headers).toMatchObject({ 'apns-priority': '5', 'apns-collapse-id': PUSH_ID });
  expect(Number(headers['apns-expiration'])).toBeGreaterThanOrEqual(before + 28 * 86_400);
});

test('a silent message is a background notification that shows nothing', async () => {
  const silent = content({
    silent: true,
    sound: false,
    badge: 4,
    image: 'https://example.com/i.png',
    data: { sync: 1 },
  });
  const { headers, payload } = await sent(silent);
  expect(payload).toEqual({ pushId: PUSH_ID, sync: 1, aps: { 'content-available': 1 } });
  expect(headers).toMatchObject({ 'apns-push-type': 'background', 'apns-priority': '5' });
  expect(headers).not.toHaveProperty('apns-collapse-id');
});

describe('ttl', () => {
  test('of 0 means one try: APNs does not store the notification', async () => {
    expect((await sent(content({ ttl: 0 }))).headers['apns-expiration']).toBe('0');
    expect((await sent(content({ ttl: 3600 }), Date.now() - 1000)).headers['apns-expiration']).toBe('0');
  });

  test('of a retry is the remaining time', async () => {
    const { headers } = await sent(content({ ttl: 3600 }), Date.now() + 60_000);
    expect(Number(headers['apns-expiration'])).toBeLessThanOrEqual(seconds() + 60);
  });
});

test.each([
  ['as it is', 'order-1 #2', 'order-1 #2'],
  ['64 bytes', 'x'.repeat(64), 'x'.repeat(64)],
  ['hashed when it is no ASCII', 'Bestellung für Ö', expect.stringMatching(/^[0-9a-f]{64}$/)],
  ['hashed when it would break a header', 'a\r\nx: y', expect.stringMatching(/^[0-9a-f]{64}$/)],
])('a collapse id is sent %s', async (_, collapseId, expected) => {
  expect((await sent(content({ collapseId }))).headers['apns-collapse-id']).toEqual(expected);
});

test('data.aps is reserved: the message is refused before it is sent', async () => {
  const results = await apns.send(content({ data: { aps: {} } }), [device('ios', TOKEN)], { id: PUSH_ID });
  expect(results).toEqual([{ ok: false, error: 'InvalidMessage: data.aps is reserved by APNs' }]);
  expect(fake.requests).toEqual([]);
});

test.each([FULL, content(), content({ title: '🎉'.repeat(200), data: { 'Ω\n"': 'ä'.repeat(90) } })])(
  'the size is the exact number of bytes in the body that APNs receives',
  async (message) => {
    const { body } = await sent(message);
    expect(apns.sizeOf!(message, 'ios')).toBe(Buffer.byteLength(body));
    expect(apns.limitBytes).toBe(4096);
  },
);

test('a token signed with the key authenticates the sender', async () => {
  const { headers } = await sent(content());
  const [head, claims, signature] = /^bearer (.+)$/.exec(headers.authorization!)![1]!.split('.') as [
    string,
    string,
    string,
  ];
  const read = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
  expect(read(head)).toMatchObject({ alg: 'ES256', kid: 'KEYID12345' });
  expect(read(claims)).toMatchObject({ iss: 'TEAMID1234', iat: expect.any(Number) });
  const key = { key: publicKey, dsaEncoding: 'ieee-p1363' } as const;
  expect(verify('sha256', Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, 'base64url'))).toBe(true);
});

test('it accepts iOS devices with a hexadecimal APNs token, so that no token can change the request path', () => {
  const accepts = (platform: 'ios' | 'android' | 'web', token: string) => apns.accepts!(device(platform, token));
  expect(accepts('ios', TOKEN)).toBe(true);
  expect(accepts('ios', TOKEN.toUpperCase())).toBe(true);
  expect(accepts('android', TOKEN)).toBe(false);
  for (const token of ['fcm:token', '../1/apps/x', 'a b', '', 'ab\n']) expect(accepts('ios', token)).toBe(false);
});
