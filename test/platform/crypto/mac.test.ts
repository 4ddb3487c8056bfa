import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createKeyedHashes } from '../../../src/platform/crypto/keyring.ts';

const newKey = () => randomBytes(32).toString('base64');
const [old, next] = [newKey(), newKey()];

test('a text has one hash per key and context', () => {
  const macs = createKeyedHashes([old]);
  const mac = macs.hash('text', 'a');
  expect(mac).toMatch(/^[0-9a-f]{64}$/);
  expect(createKeyedHashes([old]).hash('text', 'a')).toBe(mac);
  const others = [
    macs.hash('text', 'b'),
    macs.hash('texts', 'a'),
    macs.hash('', 'atext'),
    createKeyedHashes([next]).hash('text', 'a'),
  ];
  expect(new Set([mac, ...others]).size).toBe(5);
});

test('context and text are separated unambiguously', () => {
  const macs = createKeyedHashes([old]);
  expect(macs.hash('1.x', '')).not.toBe(macs.hash('x', '1.'));
  expect(macs.hash('b', 'a')).not.toBe(macs.hash('', 'ab'));
});

test('after a rotation the newest key creates hashes, and hashes of older keys stay valid', () => {
  const before = createKeyedHashes([old]).hash('text', 'a');
  const after = createKeyedHashes([next, old]);
  expect(after.hash('text', 'a')).not.toBe(before);
  expect([after.matches(before, 'text', 'a'), after.matches(after.hash('text', 'a'), 'text', 'a')]).toEqual([
    true,
    true,
  ]);
  expect([
    after.matches(before, 'text', 'b'),
    after.matches('', 'text', 'a'),
    createKeyedHashes([next]).matches(before, 'text', 'a'),
  ]).toEqual([false, false, false]);
});
