import { createHash, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ciphertextPrefix,
  createKeyedHashes,
  createKeyring,
  DecryptionError,
} from '../../../../src/platform/data/crypto/keyring.ts';
import { anyCharacter } from '../../../support/any-text.ts';

const newKey = () => randomBytes(32).toString('base64');
const anyText = fc.string({ unit: anyCharacter });
const CONTEXT = 'post/secret/64b0c0ffee0000000000beef';

function faultOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    expect(error).toBeInstanceOf(DecryptionError);
    return (error as DecryptionError).reason;
  }
  return 'none';
}

describe('round trip', () => {
  const ring = createKeyring([newKey()]);

  test('any text decrypts under the context it was encrypted with, and no ciphertext occurs twice', () => {
    fc.assert(
      fc.property(anyText, anyText, (plain, context) => {
        const text = ring.encrypt(plain, context);
        expect(text).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]{16}\.[\w-]{22}\.[\w-]*$/);
        expect(ring.decrypt(text, context)).toBe(plain);
        expect(ring.encrypt(plain, context)).not.toBe(text);
      }),
    );
  });

  test('a ciphertext does not decrypt under another context', () => {
    fc.assert(
      fc.property(anyText, anyText, anyText, (plain, context, other) => {
        fc.pre(Buffer.compare(Buffer.from(context), Buffer.from(other)) !== 0);
        expect(faultOf(() => ring.decrypt(ring.encrypt(plain, context), other))).toBe('not-authentic');
      }),
    );
  });

  test('a ciphertext with any one character changed does not decrypt', () => {
    const text = ring.encrypt('the plain text', CONTEXT);
    for (let at = 0; at < text.length; at++) {
      for (const char of 'AaBZ059-_.+/= ') {
        if (text[at] === char) continue;
        const changed = text.slice(0, at) + char + text.slice(at + 1);
        expect(
          faultOf(() => ring.decrypt(changed, CONTEXT)),
          `${at} → ${char}`,
        ).not.toBe('none');
      }
    }
  });

  test('a ciphertext with any one bit flipped does not decrypt', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.nat(), fc.constantFrom(2, 3, 4), (plain, bit, part) => {
        const parts = ring.encrypt(plain, CONTEXT).split('.');
        const bytes = Buffer.from(parts[part]!, 'base64url');
        const at = bit % (bytes.length * 8);
        bytes[at >> 3]! ^= 1 << (at & 7);
        parts[part] = bytes.toString('base64url');
        expect(faultOf(() => ring.decrypt(parts.join('.'), CONTEXT))).toBe('not-authentic');
      }),
    );
  });

  test('a shortened authentication tag is malformed and is not checked at its reduced length', () => {
    const parts = ring.encrypt('x', CONTEXT).split('.');
    parts[3] = Buffer.from(parts[3]!, 'base64url').subarray(0, 4).toString('base64url');
    expect(faultOf(() => ring.decrypt(parts.join('.'), CONTEXT))).toBe('malformed');
  });

  test.each<[string, (parts: string[]) => string[]]>([
    ['another version', ([, ...rest]) => ['v2', ...rest]],
    ['no key id', ([version, , ...rest]) => [version!, '', ...rest]],
    ['one part too many', (parts) => [...parts, 'AAAA']],
    ['one part too few', (parts) => parts.slice(0, -1)],
    ['data that is not base64url', (parts) => [...parts.slice(0, -1), '***']],
  ])('a text with %s is malformed, even if the rest is a valid ciphertext', (_, change) => {
    const text = change(ring.encrypt('x', CONTEXT).split('.')).join('.');
    expect(faultOf(() => ring.decrypt(text, CONTEXT))).toBe('malformed');
  });

  test('a truncated ciphertext is refused, wherever it is cut', () => {
    const text = ring.encrypt('the plain text', CONTEXT);
    for (let length = 0; length < text.length; length++) {
      expect(
        faultOf(() => ring.decrypt(text.slice(0, length), CONTEXT)),
        `${length}`,
      ).toMatch(/malformed|not-authentic/);
    }
    expect(faultOf(() => ring.decrypt(`${text}A`, CONTEXT))).not.toBe('none');
  });

  test('parts of two ciphertexts of the same context never form a valid third one', () => {
    fc.assert(
      fc.property(anyText, anyText, fc.integer({ min: 1, max: 6 }), (one, other, mask) => {
        fc.pre(one !== '' && other !== '');
        const [a, b] = [one, other].map((plain) => ring.encrypt(plain, CONTEXT).split('.'));
        const mixed = a!.map((part, i) => (i >= 2 && mask & (1 << (i - 2)) ? b![i]! : part)).join('.');
        expect(faultOf(() => ring.decrypt(mixed, CONTEXT))).toBe('not-authentic');
      }),
    );
  });

  test('arbitrary text is refused with a single error class', () => {
    fc.assert(fc.property(anyText, (text) => faultOf(() => ring.decrypt(text, CONTEXT)) !== 'none'));
    for (const text of ['', '.', 'v1', 'v1....', 'v2.a.b.c.d', 'plain text']) {
      expect(faultOf(() => ring.decrypt(text, CONTEXT))).toBe('malformed');
    }
  });

  test('the error names the context of the value, and contains neither the plaintext nor the ciphertext', () => {
    const text = ring.encrypt('very private', CONTEXT);
    try {
      ring.decrypt(text, 'post/secret/other');
      expect.unreachable();
    } catch (error) {
      const errorText = `${(error as Error).stack} ${JSON.stringify(error)}`;
      expect(errorText).toContain('post/secret/other');
      expect(errorText).not.toContain('very private');
      for (const part of text.split('.').slice(1)) expect(errorText).not.toContain(part);
      expect((error as Error).cause).toBeUndefined();
    }
  });
});

describe('rotation', () => {
  const [old, next] = [newKey(), newKey()];
  const before = createKeyring([old]);
  const after = createKeyring([next, old]);

  test('older keys still decrypt, and the newest key encrypts', () => {
    const text = before.encrypt('x', CONTEXT);
    expect(after.decrypt(text, CONTEXT)).toBe('x');
    expect(text.startsWith(ciphertextPrefix(before.keyIds[0]!))).toBe(true);
    expect(after.encrypt('x', CONTEXT).startsWith(ciphertextPrefix(after.keyIds[0]!))).toBe(true);
    expect(after.keyIds).toEqual([after.keyIds[0], before.keyIds[0]]);
    expect(createKeyring([old, next]).decrypt(after.encrypt('x', CONTEXT), CONTEXT)).toBe('x');
  });

  test('in any order of the keys, the first key encrypts and every key decrypts', () => {
    const keys = fc.shuffledSubarray([old, next, newKey(), newKey()], { minLength: 1 });
    fc.assert(
      fc.property(keys, keys, anyText, (writing, reading, plain) => {
        const text = createKeyring(writing).encrypt(plain, CONTEXT);
        const ring = createKeyring(reading);
        if (reading.includes(writing[0]!)) expect(ring.decrypt(text, CONTEXT)).toBe(plain);
        else expect(faultOf(() => ring.decrypt(text, CONTEXT))).toBe('unknown-key');
      }),
    );
  });

  test('an older key encrypts if its id is requested, and an unknown key id is refused', () => {
    const text = after.encrypt('x', CONTEXT, before.keyIds[0]);
    expect(before.decrypt(text, CONTEXT)).toBe('x');
    expect(() => before.encrypt('x', CONTEXT, after.keyIds[0])).toThrow('no key');
  });

  test('the id of a key reveals nothing about the key: it is the start of its hash', () => {
    const id = createHash('sha256').update(Buffer.from(old, 'base64')).digest('hex').slice(0, 8);
    expect(before.keyIds).toEqual([id]);
  });

  test('the error names a removed key', () => {
    expect(faultOf(() => createKeyring([next]).decrypt(before.encrypt('x', CONTEXT), CONTEXT))).toBe('unknown-key');
  });

  test('a ciphertext relabelled with another key of the ring does not decrypt', () => {
    const parts = before.encrypt('x', CONTEXT).split('.');
    parts[1] = after.encrypt('x', CONTEXT).split('.')[1]!;
    expect(faultOf(() => after.decrypt(parts.join('.'), CONTEXT))).toBe('not-authentic');
  });
});

describe('invalid keys', () => {
  test('all invalid keys are listed by position, and no key is printed', () => {
    const good = newKey();
    const short = randomBytes(16).toString('base64');
    const junk = 'not base64, but secret';
    const act = () => createKeyring([good, short, junk, good, '']);
    expect(act).toThrow(
      /key 2 has 16 bytes instead of 32; key 3 is not base64; key 4 repeats an earlier key; key 5 has 0/,
    );
    for (const key of [good, short, junk]) expect(act).not.toThrow(key);
  });

  test('an empty key list is refused', () => {
    expect(() => createKeyring([])).toThrow(/no key is set/);
  });
});

// Keyed hashes.
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
