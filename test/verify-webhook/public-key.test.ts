// Verification with a public key, in both builds.
import crypto, { createHash } from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { ed25519 } from '@noble/curves/ed25519.js';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  createSignatureHeader,
  generateKeyPair,
  generateSecret,
  parsePrivateSigningKey,
  parseSigningSecret,
} from '../../src/extensions/webhooks/endpoints/signing.ts';
import vector from '../data/webhook-key-pair-vector.json' with { type: 'json' };
import { anyCharacter } from '../support/any-text.ts';
import { verifyWebhookBuilds } from '../support/webhooks/verify-webhook-builds.ts';

const { id, timestamp, body, signature, publicKey } = vector;
const options = { now: timestamp * 1000 };
const headersOf = (header: string, messageId = id, seconds = timestamp) => ({
  'webhook-id': messageId,
  'webhook-timestamp': String(seconds),
  'webhook-signature': header,
});
const codeOf = (act: () => unknown): string => {
  try {
    act();
    return 'accepted';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe.each(verifyWebhookBuilds)('the build %s', (_, { verifyWebhook }) => {
  const check = (headers: object, key = publicKey, raw: string | Uint8Array = body) =>
    codeOf(() => verifyWebhook(key, headers as Headers, raw, options));
  const secret = generateSecret();
  const shared = createSignatureHeader([parseSigningSecret(secret)], id, timestamp, body);

  test.each([
    ['alone', signature, 'accepted'],
    ['next to one made with the secret', `${shared} ${signature}`, 'accepted'],
    ['next to one of another key', `v1a,${'A'.repeat(86)}== ${signature}`, 'accepted'],
    ['the fourth', `${`v1a,${'A'.repeat(86)}== `.repeat(3)}${signature}`, 'accepted'],
    ['the fifth', `${`v1a,${'A'.repeat(86)}== `.repeat(4)}${signature}`, 'SIGNATURE_MISMATCH'],
    ['named v1', signature.replace('v1a', 'v1'), 'SIGNATURE_MISMATCH'],
    ['named v2a', signature.replace('v1a', 'v2a'), 'SIGNATURE_MISMATCH'],
    ['without padding', signature.replace('==', ''), 'SIGNATURE_MISMATCH'],
    ['the same bytes in other base64', signature.replace('Ag==', 'Ah=='), 'SIGNATURE_MISMATCH'],
    ['cut short', `${signature.slice(0, 40)}==`, 'SIGNATURE_MISMATCH'],
    ['only one made with the secret', shared, 'SIGNATURE_MISMATCH'],
    [
      'a MAC keyed with the public key',
      createSignatureHeader([parseSigningSecret(`whsec_${publicKey.slice(5)}`)], id, timestamp, body),
      'SIGNATURE_MISMATCH',
    ],
  ])('a signature that is %s has the expected result', (_, header, expected) => {
    expect(check(headersOf(header))).toBe(expected);
  });

  test('verifying with the secret ignores signatures of the key', () => {
    expect(check(headersOf(signature), secret)).toBe('SIGNATURE_MISMATCH');
    expect(check(headersOf(`${signature} ${shared}`), secret)).toBe('accepted');
  });

  test.each([
    'whpk_',
    'whpk_***',
    `whpk_${'A'.repeat(44)}`,
    `${publicKey}=`,
    publicKey.replace('ir4=', 'ir5='),
    vector.privateKey,
  ])('the key %s is refused', (key) => {
    expect(check(headersOf(signature), key)).toBe('INVALID_SECRET');
  });

  test('the signature covers the id, the time and the body, and bytes are used as they are', () => {
    expect(check(headersOf(signature), publicKey, new TextEncoder().encode(body))).toBe('accepted');
    expect(check(headersOf(signature, 'msg_other'))).toBe('SIGNATURE_MISMATCH');
    expect(check(headersOf(signature, id, timestamp + 1))).toBe('SIGNATURE_MISMATCH');
    expect(codeOf(() => verifyWebhook(publicKey, headersOf(signature), body))).toBe('TIMESTAMP_TOO_OLD');
  });

  test('a signature of a new key pair is verified with its public key only', () => {
    const [pair, other] = [generateKeyPair(), generateKeyPair()];
    const key = parsePrivateSigningKey(pair.privateKey);
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const raw = JSON.stringify({ text });
        const headers = headersOf(createSignatureHeader([key], id, timestamp, raw));
        expect(verifyWebhook(pair.publicKey, headers, raw, options)).toEqual({ text });
        expect(check(headers, other.publicKey, raw)).toBe('SIGNATURE_MISMATCH');
        expect(check(headers, pair.publicKey, `${raw} `)).toBe('SIGNATURE_MISMATCH');
      }),
      { numRuns: 20 },
    );
  });
});

describe('keys and signatures that no honest signer creates', () => {
  const { Point } = ed25519;
  const [p, order] = [Point.Fp.ORDER, Point.Fn.ORDER];
  const BODIES = Array.from({ length: 24 }, (_, n) => `[${n}]`);
  const [a, r] = [1_234_567n, 7_654_321n];
  const [keyPoint, randomPoint] = [Point.BASE.multiply(a), Point.BASE.multiply(r)];
  const eighthOrder = Point.fromHex('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05');

  /** 32 bytes, the least significant first. */
  const encode = (n: bigint) => Uint8Array.from({ length: 32 }, (_, i) => Number((n >> BigInt(8 * i)) & 255n));
  const decode = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`);

  interface Forgery {
    text?: string;
    /** The encoded key and the encoded R. */
    key?: Uint8Array;
    encodedR?: Uint8Array;
    /** The multiples of the base point in them. */
    a?: bigint;
    r?: bigint;
    /** Added to s. */
    plus?: bigint;
  }

  /** Returns the result of each build for a signature that is made with these parts; by default a genuine one. */
  function resultsOf(forgery: Forgery): string[] {
    const genuine = { text: body, key: keyPoint.toBytes(), encodedR: randomPoint.toBytes(), a, r, plus: 0n };
    const { text, key, encodedR, plus, ...scalars } = { ...genuine, ...forgery };
    const message = Buffer.from(`${id}.${timestamp}.${text}`);
    const h = decode(createHash('sha512').update(encodedR).update(key).update(message).digest());
    const s = ((scalars.r + h * scalars.a) % order) + plus;
    const header = `v1a,${Buffer.concat([encodedR, encode(s)]).toString('base64')}`;
    const publicKey = `whpk_${Buffer.from(key).toString('base64')}`;
    return verifyWebhookBuilds.map(([, { verifyWebhook }]) =>
      codeOf(() => verifyWebhook(publicKey, headersOf(header), text, options)),
    );
  }
  const ACCEPTED = ['accepted', 'accepted'];
  const REFUSED = ['SIGNATURE_MISMATCH', 'SIGNATURE_MISMATCH'];

  test('a signature whose s is not reduced is refused, and the same with a reduced s is accepted', () => {
    expect(resultsOf({})).toEqual(ACCEPTED);
    expect(resultsOf({ plus: order })).toEqual(REFUSED);
  });

  test('a signature whose R contains a point of small order is refused', () => {
    const encodedR = randomPoint.add(eighthOrder).toBytes();
    for (const text of BODIES) expect(resultsOf({ text, encodedR })).toEqual(REFUSED);
  });

  test('with a key that contains a point of small order, both builds accept the same signatures', () => {
    const key = keyPoint.add(eighthOrder).toBytes();
    const results = BODIES.map((text) => String(resultsOf({ text, key })));
    // Without the cofactor, the equation holds for one text in eight.
    expect(new Set(results)).toEqual(new Set([String(ACCEPTED), String(REFUSED)]));
  });

  test('a key that encodes no point is well-formed, but verifies nothing', () => {
    for (const y of [2n, p - 2n, p + 2n]) expect(resultsOf({ key: encode(y) })).toEqual(REFUSED);
  });

  test('a key that encodes no point verifies nothing on a runtime that refuses to import it, such as Deno', () => {
    const { createPublicKey } = crypto;
    onTestFinished(() => {
      Object.assign(crypto, { createPublicKey });
      syncBuiltinESMExports();
    });
    const refuse = vi.fn(() => {
      throw new Error('Cannot decompress Edwards point');
    });
    Object.assign(crypto, { createPublicKey: refuse });
    syncBuiltinESMExports();
    expect(resultsOf({ key: encode(2n) })).toEqual(REFUSED);
    expect(refuse).toHaveBeenCalledOnce();
  });

  // Older versions of Node accept some of these signatures, so only the other build is tested.
  test('the build for browsers refuses every key and every R of small order, in every encoding', () => {
    const canonical = Array.from({ length: 8 }, (_, n) => eighthOrder.multiplyUnsafe(BigInt(n)).toBytes());
    const sign = 1n << 255n;
    const others = [p, p + 1n, sign + 1n, sign + p - 1n, sign + p, sign + p + 1n].map(encode);
    for (const encoded of [...canonical, ...others]) {
      // The equation holds for one text in eight, or more often.
      for (const text of BODIES) expect(resultsOf({ text, key: encoded, a: 0n })[1]).toBe('SIGNATURE_MISMATCH');
    }
    const key = keyPoint.add(eighthOrder).toBytes();
    for (const encodedR of [...canonical, ...others]) {
      for (const text of BODIES) expect(resultsOf({ text, key, encodedR, r: 0n })[1]).toBe('SIGNATURE_MISMATCH');
    }
  });
});
