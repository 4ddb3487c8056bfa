import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  checksumOf,
  generateKey,
  hasValidChecksum,
  looksLikeApiKey,
  prefixOf,
} from '../../../src/extensions/api-keys/key-format.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

test.each([
  ['0'.repeat(32), '2wjyrI'],
  ['z'.repeat(32), '4W8LJS'],
  ['0123456789ABCDEFGHIJKLMNOPQRSTUV', '1ggZdL'],
  ['zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ', '0mLq17'],
])('the checksum of %s is %s, as secret scanners compute it', (random, checksum) => {
  expect(checksumOf(random)).toBe(checksum);
});

test('a checksum is the CRC-32 of the random part in six base62 digits', () => {
  const digits = (text: string) => [...text].reduce((sum, digit) => sum * 62 + ALPHABET.indexOf(digit), 0);
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...ALPHABET), minLength: 32, maxLength: 32 }), (random) => {
      expect(checksumOf(random)).toMatch(/^[0-9A-Za-z]{6}$/);
      expect(digits(checksumOf(random))).toBe(crc32(random));
    }),
  );
});

test('keys have the format of secret scanners, are unique, and use all characters about equally often', () => {
  const keys = Array.from({ length: 2000 }, generateKey);
  for (const key of keys) expect(key).toMatch(/^svc_ak_[0-9A-Za-z]{38}$/);
  expect(new Set(keys).size).toBe(keys.length);
  const counts = new Map([...ALPHABET].map((character) => [character, 0]));
  for (const key of keys) for (const character of key.slice(7, 39)) counts.set(character, counts.get(character)! + 1);
  // 64,000 characters: about 1,032 of each, with a standard deviation of 32. A difference of 6 deviations never happens by chance.
  for (const count of counts.values()) expect(Math.abs(count - 64_000 / 62)).toBeLessThan(200);
});

test('a key with one character changed, left out, doubled or swapped with the next is not valid', () => {
  fc.assert(
    fc.property(fc.nat(37), fc.constantFrom(...ALPHABET), fc.nat(3), (at, other, how) => {
      const key = generateKey();
      const i = 7 + at;
      const next = key.slice(i, i + 2);
      const changed = [
        key.slice(0, i) + other + key.slice(i + 1),
        key.slice(0, i) + key.slice(i + 1),
        key.slice(0, i) + key[i] + key.slice(i),
        key.slice(0, i) + [...next].reverse().join('') + key.slice(i + 2),
      ][how]!;
      expect(hasValidChecksum(changed)).toBe(changed === key);
    }),
    { numRuns: 1000 },
  );
});

test.each([
  '',
  'svc_ak_',
  'svc_ak_x',
  `svc_ak_${'0'.repeat(38)}`,
  `svc_${'0'.repeat(64)}`,
  `SVC_AK_${'0'.repeat(32)}2wjyrI`,
])('"%s" is not a key', (text) => {
  expect(hasValidChecksum(text)).toBe(false);
});

test('a prefix is the label and six characters; session tokens do not have the label', () => {
  const key = generateKey();
  expect([prefixOf(key), looksLikeApiKey(key)]).toEqual([key.slice(0, 13), true]);
  expect(looksLikeApiKey(`svc_${'a'.repeat(64)}`)).toBe(false);
});
