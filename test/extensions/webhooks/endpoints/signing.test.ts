import { describe, expect, test } from 'vitest';
import {
  createSignatureHeader,
  generateSecret,
  parseSigningSecret,
} from '../../../../src/extensions/webhooks/endpoints/signing.ts';
import vectors from '../../../data/webhook-vectors.json' with { type: 'json' };

describe('published vectors', () => {
  test.each(vectors)('$id $body', ({ secret, id, timestamp, body, signature }) => {
    expect(createSignatureHeader([parseSigningSecret(secret)], id, timestamp, body)).toBe(signature);
    expect(createSignatureHeader([parseSigningSecret(secret)], id, timestamp, Buffer.from(body))).toBe(signature);
  });
});

test('two keys produce two signatures, in order, separated by a space', () => {
  const [next, old] = [parseSigningSecret(generateSecret()), parseSigningSecret(generateSecret())];
  expect(createSignatureHeader([next, old], 'msg_a', 1, '{}')).toBe(
    `${createSignatureHeader([next], 'msg_a', 1, '{}')} ${createSignatureHeader([old], 'msg_a', 1, '{}')}`,
  );
});

test('a new secret is whsec_ and the base64 of 32 bytes, different each time', () => {
  expect(generateSecret()).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(generateSecret()).not.toBe(generateSecret());
});

test.each([
  '',
  'whsec_',
  'C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
  'whsec_not base64 at all, but secret',
  `whsec_${Buffer.alloc(23).toString('base64')}`,
  `whsec_${Buffer.alloc(65).toString('base64')}`,
  `whsec_${Buffer.alloc(32).toString('base64')}\n`,
  `whsec_${Buffer.alloc(32).toString('base64').replace('=', '')}`,
])('the secret %j is refused without being printed', (secret) => {
  const act = () => parseSigningSecret(secret);
  expect(act).toThrow('A signing secret is whsec_ followed by the base64 of 24 to 64 bytes');
});

test.each([24, 64])('a secret of %i bytes is accepted', (length) => {
  expect(parseSigningSecret(`whsec_${Buffer.alloc(length, 7).toString('base64')}`).symmetricKeySize).toBe(length);
});
