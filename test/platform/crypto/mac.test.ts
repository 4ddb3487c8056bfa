import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createMacs } from '../../../src/platform/crypto/keyring.ts';

const newKey = () => randomBytes(32).toString('base64');
const [old, next] = [newKey(), newKey()];

test('a text has one hash per key and context', () => {
  const macs = createMacs([old]);
  const mac = macs.of('text', 'a');
  expect(mac).toMatch(/^[0-9a-f]{64}$/);
  expect(createMacs([old]).of('text', 'a')).toBe(mac);
  const others = [
    macs.of('text', 'b'),
    macs.of('texts', 'a'),
    macs.of('', 'atext'),
    createMacs([next]).of('text', 'a'),
  ];
  expect(new Set([mac, ...others]).size).toBe(5);
});

test('context and text are separated unambiguously', () => {
  const macs = createMacs([old]);
  expect(macs.of('1.x', '')).not.toBe(macs.of('x', '1.'));
  expect(macs.of('b', 'a')).not.toBe(macs.of('', 'ab'));
});

test('after a rotation the newest key creates hashes, and hashes of older keys stay valid', () => {
  const before = createMacs([old]).of('text', 'a');
  const after = createMacs([next, old]);
  expect(after.of('text', 'a')).not.toBe(before);
  expect([after.isOf(before, 'text', 'a'), after.isOf(after.of('text', 'a'), 'text', 'a')]).toEqual([true, true]);
  expect([
    after.isOf(before, 'text', 'b'),
    after.isOf('', 'text', 'a'),
    createMacs([next]).isOf(before, 'text', 'a'),
  ]).toEqual([false, false, false]);
});
