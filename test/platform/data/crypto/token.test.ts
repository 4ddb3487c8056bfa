import { expect, test } from 'vitest';
import {
  generateSecret,
  generateToken,
  hashToken,
  isWellFormedToken,
} from '../../../../src/platform/data/crypto/token.ts';

test('a token is svc_ followed by 64 hex digits, and no two tokens are the same', () => {
  const tokens = Array.from({ length: 100 }, () => generateToken());
  for (const token of tokens) {
    expect(token).toMatch(/^svc_[0-9a-f]{64}$/);
    expect(isWellFormedToken(token)).toBe(true);
  }
  expect(new Set(tokens).size).toBe(100);
});

test('a token of another kind is well-formed only with its own prefix', () => {
  const token = generateToken('svc_mfa_');
  expect(token).toMatch(/^svc_mfa_[0-9a-f]{64}$/);
  expect([isWellFormedToken(token, 'svc_mfa_'), isWellFormedToken(token, 'svc_rt_')]).toEqual([true, false]);
  expect([isWellFormedToken(token), isWellFormedToken(generateToken(), 'svc_mfa_')]).toEqual([false, false]);
});

test('a secret is 256 bits in base64url, and no two secrets are the same', () => {
  const secrets = Array.from({ length: 100 }, generateSecret);
  for (const secret of secrets) expect(secret).toMatch(/^[\w-]{43}$/);
  expect(new Set(secrets).size).toBe(100);
});

test('the hash is the SHA-256 in hex', () => {
  expect(hashToken('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

test.each([
  '',
  'svc_',
  `svc_${'0'.repeat(63)}`,
  `svc_${'0'.repeat(65)}`,
  `svc_${'G'.repeat(64)}`,
  `svc_${'A'.repeat(64)}`,
  `svc_ak_${'0'.repeat(61)}`,
  `svc_${'0'.repeat(64)}\n`,
  ` svc_${'0'.repeat(64)}`,
  'x'.repeat(10_000),
])('%j is malformed', (text) => {
  expect(isWellFormedToken(text)).toBe(false);
});
