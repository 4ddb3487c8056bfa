import { expect, test } from 'vitest';
import { fingerprintOf, networkOf } from '../../../src/extensions/security-mails/devices.ts';

test.each([
  ['203.0.113.7', '203.0'],
  ['203.0.0.1', '203.0'],
  ['203.1.113.7', '203.1'],
  ['127.0.0.1', '127.0'],
  ['2001:db8:1::7', '2001:db8'],
  ['2001:db8:ffff:ffff::1', '2001:db8'],
  ['2001:db9::7', '2001:db9'],
  ['::1', '0:0'],
  ['', ''],
  ['unknown', ''],
])('the address %j belongs to the network %j', (ip, network) => {
  expect(networkOf(ip)).toBe(network);
});

test('a device keeps its fingerprint within its network, and every other difference changes it', () => {
  const one = fingerprintOf('ann', 'Firefox on Windows', '203.0.113.7');
  expect(one).toMatch(/^[0-9a-f]{64}$/);
  expect(fingerprintOf('ann', 'Firefox on Windows', '203.0.5.99')).toBe(one);
  const others = [
    fingerprintOf('ann', 'Firefox on Windows', '203.1.113.7'),
    fingerprintOf('ann', 'Firefox on Linux', '203.0.113.7'),
    fingerprintOf('ben', 'Firefox on Windows', '203.0.113.7'),
    fingerprintOf('ann', '', ''),
  ];
  expect(new Set([one, ...others]).size).toBe(5);
});
