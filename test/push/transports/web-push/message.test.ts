import { beforeEach, describe, expect, test } from 'vitest';
import type { PushContent } from '../../../../src/push/message/message.ts';
import { createBrowser } from '../../../fakes/push/browser.ts';
import { content, device, FULL, PUSH_ID } from '../content.ts';
import { webPushAndFake } from './local.ts';

const { webPush, fake } = await webPushAndFake();
beforeEach(() => {
  fake.requests.length = 0;
});
const browser = createBrowser();

/** The message that a browser receives. */
async function sent(message: PushContent, expiresAt?: number) {
  fake.requests.length = 0;
  const context = { id: PUSH_ID, ...(expiresAt === undefined ? {} : { expiresAt }) };
  await webPush.send(message, [device('web', browser.token(`${fake.origin}/push/x`))], context);
  const { headers, body } = fake.requests[0]!;
  return { headers, body, shown: JSON.parse(browser.decrypt(body)) };
}

test('every field is sent', async () => {
  const { headers, shown } = await sent(FULL);
  expect(shown).toEqual({
    pushId: PUSH_ID,
    title: 'Titel',
    body: 'Grüße',
    image: 'https://example.com/image.png',
    icon: 'https://example.com/icon.png',
    url: '/orders/1',
    badge: 3,
    group: 'orders-1',
    tag: 'order 1',
    data: { url: '/orders/1', count: 2, open: true, items: ['a', { b: null }], text: 'plain' },
  });
  expect(headers).toMatchObject({
    ttl: '3600',
    urgency: 'high',
    topic: expect.stringMatching(/^[0-9a-f]{32}$/),
    'content-encoding': 'aes128gcm',
    'content-type': 'application/octet-stream',
  });
});

test('a minimal message is silent, has normal urgency, is kept for 28 days, and has the push’s id as tag and no topic', async () => {
  const { headers, shown } = await sent(content({ sound: false, priority: 'normal' }));
  expect(shown).toEqual({ pushId: PUSH_ID, title: 'Hi', tag: PUSH_ID, silent: true });
  expect(headers).toMatchObject({ ttl: '2419200', urgency: 'normal' });
  expect(headers).not.toHaveProperty('topic');
});

test.each([
  ['as it is', 'order1', 'order1'],
  ['32 characters', 'x'.repeat(32), 'x'.repeat(32)],
  ['hashed when it is longer', 'x'.repeat(33), expect.stringMatching(/^[0-9a-f]{32}$/)],
  ['hashed when it has other characters', 'a\r\nx: y', expect.stringMatching(/^[0-9a-f]{32}$/)],
])('a collapse id becomes the topic, %s, and the tag', async (_, collapseId, topic) => {
  const { headers, shown } = await sent(content({ collapseId }));
  expect(headers.topic).toEqual(topic);
  expect(shown.tag).toBe(collapseId);
});

test('a retry has the remaining ttl; a ttl of 0 means one try', async () => {
  expect(Number((await sent(content({ ttl: 3600 }), Date.now() + 60_000)).headers.ttl)).toBeLessThanOrEqual(60);
  expect((await sent(content({ ttl: 0 }))).headers.ttl).toBe('0');
});

test('a silent message is refused before it is sent, because browsers cancel a subscription that shows nothing', async () => {
  const silent = content({ silent: true, sound: false, data: { sync: 1 } });
  const results = await webPush.send(silent, [device('web', browser.token(`${fake.origin}/x`))], { id: PUSH_ID });
  expect(results).toEqual([{ ok: false, error: expect.stringMatching(/^SilentNotSupported: /) }]);
  expect(fake.requests).toEqual([]);
});

describe('the size', () => {
  test.each([FULL, content(), content({ title: '🎉'.repeat(200) })])(
    'is the exact number of bytes in the encrypted body',
    async (message) => {
      const { body } = await sent(message);
      expect(webPush.sizeOf!(message, 'web')).toBe(body.length);
    },
  );

  test('at the limit is still accepted by a push service', async () => {
    const room = webPush.limitBytes! - webPush.sizeOf!(content({ body: '' }), 'web');
    const full = content({ body: 'x'.repeat(room) });
    expect(webPush.sizeOf!(full, 'web')).toBe(4096);
    const to = [device('web', browser.token(`${fake.origin}/x`))];
    expect(await webPush.send(full, to, { id: PUSH_ID })).toMatchObject([{ ok: true }]);
    const more = content({ body: 'x'.repeat(room + 1) });
    expect(await webPush.send(more, to, { id: PUSH_ID })).toMatchObject([
      { ok: false, error: 'MessageTooBig: status 413' },
    ]);
  });
});

test('it accepts browsers', () => {
  expect(webPush.accepts!(device('web', '{}'))).toBe(true);
  expect(webPush.accepts!(device('ios', 'a'.repeat(64)))).toBe(false);
  expect(webPush.accepts!(device('android', 'a'))).toBe(false);
});
