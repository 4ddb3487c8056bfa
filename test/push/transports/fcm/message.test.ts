import { beforeEach, describe, expect, test } from 'vitest';
import type { PushContent } from '../../../../src/push/message/message.ts';
import { content, device, FULL, PUSH_ID } from '../content.ts';
import { fcmAndFake } from './redirected.ts';

const { fcm, fake } = await fcmAndFake();
beforeEach(() => {
  fake.requests.length = 0;
});

/** The request that FCM receives for a device. */
async function sent(message: PushContent, platform: 'android' | 'ios' = 'android', expiresAt?: number) {
  const context = { id: PUSH_ID, ...(expiresAt === undefined ? {} : { expiresAt }) };
  await fcm.send(message, [device(platform, 'fcm:token')], context);
  return fake.requests[0]!.message;
}

test('every field is sent in the form for Android', async () => {
  expect(await sent(FULL)).toEqual({
    token: 'fcm:token',
    notification: { title: 'Titel', body: 'Grüße', image: 'https://example.com/image.png' },
    data: {
      pushId: PUSH_ID,
      url: '/orders/1',
      count: '2',
      open: 'true',
      items: '["a",{"b":null}]',
      text: 'plain',
    },
    android: {
      priority: 'high',
      ttl: '3600s',
      collapse_key: 'order 1',
      notification: { tag: 'order 1', channel_id: 'orders', sound: 'chime.caf', notification_count: 3 },
    },
  });
});

test('every field is sent in the form for an iOS app that registers with FCM', async () => {
  const now = Math.floor(Date.now() / 1000);
  const { apns, android, notification } = await sent(FULL, 'ios');
  expect(android).toBeUndefined();
  expect(notification).toEqual({ title: 'Titel', body: 'Grüße', image: 'https://example.com/image.png' });
  expect(apns).toEqual({
    headers: {
      'apns-push-type': 'alert',
      'apns-priority': '10',
      'apns-expiration': expect.any(String),
      'apns-collapse-id': 'order 1',
    },
    payload: {
      aps: {
        alert: { title: 'Titel', subtitle: 'Untertitel', body: 'Grüße' },
        badge: 3,
        sound: 'chime.caf',
        category: 'ORDER',
        'thread-id': 'orders-1',
        'mutable-content': 1,
      },
    },
    fcmOptions: { image: 'https://example.com/image.png' },
  });
  expect(Number(apns.headers['apns-expiration']) - now).toBeGreaterThanOrEqual(3600);
});

test('a message without collapseId has the push’s id as tag and no collapse key, because FCM keeps only four keys', async () => {
  const { android } = await sent(content());
  expect(android.notification.tag).toBe(PUSH_ID);
  expect(android).not.toHaveProperty('collapse_key');
});

test('a message without ttl uses the default of FCM; its priority and missing sound are sent', async () => {
  const { android } = await sent(content({ sound: false, priority: 'normal' }));
  expect(android).toEqual({ priority: 'normal', notification: { tag: PUSH_ID } });
});

describe('ttl', () => {
  test.each([
    ['0: one try', 0, undefined, '0s'],
    ['at most 28 days', 2 ** 31 - 1, undefined, '2419200s'],
    ['what is left of it at a retry', 3600, 60_000, '60s'],
    ['nothing left', 3600, -1000, '0s'],
  ])('%s', async (_, ttl, leftMs, expected) => {
    const { android } = await sent(content({ ttl }), 'android', leftMs === undefined ? undefined : Date.now() + leftMs);
    expect(android.ttl).toBe(expected);
  });
});

test('a silent message is sent as data only, with normal priority', async () => {
  const silent = content({ silent: true, sound: false, data: { sync: 1 } });
  expect(await sent(silent)).toEqual({
    token: 'fcm:token',
    data: { pushId: PUSH_ID, sync: '1' },
    android: { priority: 'normal' },
  });
  fake.requests.length = 0;
  expect((await sent(silent, 'ios')).apns).toEqual({
    headers: { 'apns-push-type': 'background', 'apns-priority': '5', 'apns-expiration': expect.any(String) },
    payload: { aps: { 'content-available': 1 } },
  });
});

test('a pushId in the message’s own data takes precedence over the added one', async () => {
  expect((await sent(content({ data: { pushId: 'mine' } }))).data).toEqual({ pushId: 'mine' });
});

test.each(['from', 'message_type', 'collapse_key', 'google.x', 'gcm.notification.title'])(
  'data.%s is reserved: the message is refused before it is sent',
  async (key) => {
    const results = await fcm.send(content({ data: { [key]: 'x' } }), [device('android', 'a')], { id: PUSH_ID });
    expect(results).toEqual([{ ok: false, error: `InvalidMessage: data.${key} is reserved by FCM` }]);
    expect(fake.requests).toEqual([]);
  },
);

test('the size counts the UTF-8 bytes of visible text and data, not of token, ttl and priority', () => {
  const size = (fields: Partial<PushContent>) => fcm.sizeOf!(content(fields), 'android');
  const bare = size({});
  expect(size({ title: 'Hi' })).toBe(bare);
  expect(size({ ttl: 5, priority: 'normal' })).toBe(bare);
  expect(size({ title: 'Hi€' })).toBe(bare + 3);
  expect(size({ title: 'Hi\n' })).toBe(bare + 2);
  expect(size({ data: { a: 'b' } })).toBe(bare + ',"a":"b"'.length);
  expect(size({ channel: 'c' })).toBeGreaterThan(bare);
  expect(fcm.limitBytes).toBe(4096);
});

test.each(['android', 'ios'] as const)('the longest allowed title and body reach %s', (platform) => {
  const longest = content({ title: 'x'.repeat(250), body: 'x'.repeat(2000) });
  expect(fcm.sizeOf!(longest, platform)).toBeLessThan(2600);
});

test('it accepts Android devices, and iOS devices unless their token is an APNs token', () => {
  const accepts = (platform: 'ios' | 'android' | 'web', token: string) => fcm.accepts!(device(platform, token));
  expect(accepts('android', 'a'.repeat(64))).toBe(true);
  expect(accepts('ios', 'fcm:token')).toBe(true);
  expect(accepts('ios', 'a1'.repeat(32))).toBe(false);
  expect(accepts('web', '{}')).toBe(false);
});
