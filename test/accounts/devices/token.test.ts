import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hashDeviceToken, maskToken, tokenError } from '../../../src/accounts/devices/index.ts';
import { anyCharacter } from '../../support/any-text.ts';

const keys = { p256dh: 'BPk', auth: 'c2VjcmV0' };
const subscription = (endpoint: string, more = {}) => JSON.stringify({ endpoint, expirationTime: null, keys, ...more });
const inProduction = { allowPrivate: false, hosts: ['push.example.com', '*.example.org'] };

test('a masked token shows leading and trailing characters around an ellipsis', () => {
  expect(maskToken('android', 'abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnop')).toBe('abcdef…klmnop');
});

test('no more than a quarter of a token, and never more than 12 characters, are shown', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, minLength: 1, maxLength: 200 }), (token) => {
      const shownLength = [...maskToken('ios', token)].length - 1;
      expect(shownLength).toBeLessThanOrEqual(Math.min(12, [...token].length / 4));
      expect(maskToken('ios', token).isWellFormed()).toBe(token.isWellFormed());
    }),
  );
});

test('the masked token of a browser shows its endpoint and nothing of its keys', () => {
  const masked = maskToken('web', subscription('https://push.example.com/send/0123456789abcdef0123456789'));
  expect(masked).toBe('https:…456789');
});

test.each([
  ['plain text', 'token'],
  ['a JSON string', '"https://push.example.com"'],
  ['JSON null', 'null'],
  ['no endpoint', JSON.stringify({ keys })],
  ['no keys', JSON.stringify({ endpoint: 'https://push.example.com/1' })],
  ['an http endpoint', subscription('http://push.example.com/1')],
  ['another scheme', subscription('javascript:alert(1)')],
  ['a private address', subscription('https://127.0.0.1/1')],
  ['a local name', subscription('https://localhost/1')],
  ['a name and password', subscription('https://a:b@push.example.com/1')],
])('a web token is refused in production when it is or has %s', (_, token) => {
  expect(tokenError('web', token, inProduction)).toMatch(/^Must be/);
});

test.each([
  ['https://fcm.googleapis.com/fcm/send/1', true],
  ['https://jmt17.google.com/fcm/send/1', true],
  ['https://updates.push.services.mozilla.com/wpush/v2/1', true],
  ['https://web.push.apple.com/1', true],
  ['https://wns2-par02p.notify.windows.com/w/?token=1', true],
  ['https://push.example.com/1', true],
  ['https://a.b.example.org/1', true],
  ['https://example.org/1', false],
  ['https://sub.push.example.com/1', false],
  ['https://evil.com/fcm.googleapis.com', false],
  ['https://fcm.googleapis.com.evil.com/1', false],
  ['https://evilpush.apple.com/1', false],
  ['https://1.1.1.1/1', false],
])('%s is an endpoint of a push service in production: %s', (endpoint, known) => {
  const fault = 'Must be a PushSubscription whose endpoint belongs to a known push service';
  expect(tokenError('web', subscription(endpoint), inProduction)).toBe(known ? undefined : fault);
});

test('with endpointHosts "*", every public host is accepted and private hosts are not', () => {
  const any = { allowPrivate: false, hosts: ['*'] };
  expect(tokenError('web', subscription('https://push.anybody.net/1'), any)).toBeUndefined();
  expect(tokenError('web', subscription('https://10.0.0.1/1'), any)).toMatch(/public host/);
});

test('in development, a push service on the same machine is accepted', () => {
  expect(
    tokenError('web', subscription('https://localhost:8443/1'), { allowPrivate: true, hosts: [] }),
  ).toBeUndefined();
});

test('a browser is identified by its endpoint, any other device by its whole token', () => {
  const endpoint = 'https://push.example.com/1';
  const other = JSON.stringify({ keys, endpoint }, null, 2);
  expect(hashDeviceToken(subscription(endpoint))).toBe(hashDeviceToken(other));
  expect(hashDeviceToken(subscription(endpoint))).not.toBe(hashDeviceToken(subscription(`${endpoint}2`)));
  expect(hashDeviceToken('token')).not.toBe(hashDeviceToken('Token'));
  expect(hashDeviceToken('{"endpoint":')).not.toBe(hashDeviceToken('{"endpoint": '));
});
