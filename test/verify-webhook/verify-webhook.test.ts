import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createSignatureHeader,
  generateSecret,
  parseSigningSecret,
} from '../../src/extensions/webhooks/endpoints/signing.ts';
import vectors from '../data/webhook-vectors.json' with { type: 'json' };
import { anyCharacter } from '../support/any-text.ts';
import { verifyWebhookBuilds } from '../support/webhooks/verify-webhook-builds.ts';

const SECRET = generateSecret();
const NOW = 1_700_000_000;
const BODY = JSON.stringify({ type: 'post.created', timestamp: '2023-11-14T22:13:20.000Z', data: { title: 'Zoë 😀' } });
const options = { now: NOW * 1000 };

function signed(body: string | Buffer = BODY, timestamp = NOW, secret = SECRET) {
  return {
    'webhook-id': 'msg_abc',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': createSignatureHeader([parseSigningSecret(secret)], 'msg_abc', timestamp, body),
  };
}

describe.each(verifyWebhookBuilds)('the build %s', (_, { verifyWebhook, WebhookVerificationError }) => {
  function codeOf(act: () => unknown): string {
    try {
      act();
    } catch (error) {
      expect(error).toBeInstanceOf(WebhookVerificationError);
      return (error as { code: string }).code;
    }
    return 'accepted';
  }

  describe('published vectors', () => {
    test.each(vectors)('$id $body', ({ secret, id, timestamp, body, signature }) => {
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        'webhook-signature': signature,
      };
      const act = () => verifyWebhook(secret, headers, body, { now: timestamp * 1000 });
      if (['', ' ', '.'].includes(body)) expect(codeOf(act)).toBe('INVALID_PAYLOAD');
      else expect(act()).toEqual(JSON.parse(body));
    });
  });

  describe('forms of the input', () => {
    const headers = signed();
    test.each([
      ['plain object', headers],
      ['other case', Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]))],
      ['fetch Headers', new Headers(headers)],
      ['Map', new Map(Object.entries(headers))],
      ['arrays with one value', Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]))],
      ['null prototype', Object.assign(Object.create(null), headers)],
      ['a plain object with a header named get', { get: 'x', ...headers }],
      ['among others', { host: 'example.com', 'set-cookie': ['a', 'b'], ...headers }],
    ])('headers are accepted as %s', (_, given) => {
      expect(verifyWebhook(SECRET, given, BODY, options)).toEqual(JSON.parse(BODY));
    });

    test.each([
      ['string', BODY],
      ['Buffer', Buffer.from(BODY)],
      ['Uint8Array', new TextEncoder().encode(BODY)],
      [
        'a view into a larger buffer',
        new Uint8Array(Buffer.from(`..${BODY}..`)).subarray(2, Buffer.byteLength(BODY) + 2),
      ],
    ])('the body is accepted as %s', (_, body) => {
      expect(verifyWebhook(SECRET, headers, body, options)).toEqual(JSON.parse(BODY));
    });

    test('a secret without its prefix and a time as a Date are accepted', () => {
      expect(verifyWebhook(SECRET.slice(6), headers, BODY, { now: new Date(NOW * 1000) })).toEqual(JSON.parse(BODY));
    });
  });

  describe('several signatures', () => {
    const own = signed()['webhook-signature'];
    const foreign = signed(BODY, NOW, generateSecret())['webhook-signature'];
    test.each([
      ['own last', `${foreign} ${own}`, 'accepted'],
      ['own first', `${own} ${foreign}`, 'accepted'],
      ['an unknown version before it', `v1a,${'A'.repeat(86)}== ${own}`, 'accepted'],
      ['only foreign', `${foreign} ${foreign}`, 'SIGNATURE_MISMATCH'],
      ['its own signature under another version', own.replace('v1,', 'v2,'), 'SIGNATURE_MISMATCH'],
      ['its own signature without a version', own.slice(3), 'SIGNATURE_MISMATCH'],
      ['signatures separated by a comma', `${foreign},${own}`, 'SIGNATURE_MISMATCH'],
      ['the same bytes in other base64', own.replace(/=$/, ''), 'SIGNATURE_MISMATCH'],
      ['empty signature', 'v1,', 'SIGNATURE_MISMATCH'],
      ['blank', '   ', 'SIGNATURE_MISMATCH'],
      ['empty', '', 'INVALID_HEADER'],
    ])('%s', (_, signature, expected) => {
      const headers = { ...signed(), 'webhook-signature': signature };
      expect(codeOf(() => verifyWebhook(SECRET, headers, BODY, options))).toBe(expected);
    });
  });

  describe('time', () => {
    test.each([
      [0, 'accepted'],
      [-300, 'accepted'],
      [300, 'accepted'],
      [-301, 'TIMESTAMP_TOO_OLD'],
      [301, 'TIMESTAMP_TOO_NEW'],
    ])('%d s from now: %s', (offset, expected) => {
      expect(codeOf(() => verifyWebhook(SECRET, signed(BODY, NOW + offset), BODY, options))).toBe(expected);
    });

    test('the tolerance can be changed, and a tolerance that is not a number accepts nothing', () => {
      const late = signed(BODY, NOW - 301);
      expect(codeOf(() => verifyWebhook(SECRET, late, BODY, { ...options, toleranceSeconds: 301 }))).toBe('accepted');
      expect(codeOf(() => verifyWebhook(SECRET, signed(), BODY, { ...options, toleranceSeconds: Number.NaN }))).toBe(
        'TIMESTAMP_TOO_OLD',
      );
      expect(codeOf(() => verifyWebhook(SECRET, signed(), BODY, { now: Number.NaN }))).toBe('TIMESTAMP_TOO_OLD');
    });

    test.each(['1e9', '0x10', '1700000000.5', ' 1700000000', '-5', 'now', '9'.repeat(400)])(
      '%j is malformed',
      (text) => {
        const headers = { ...signed(), 'webhook-timestamp': text };
        expect(codeOf(() => verifyWebhook(SECRET, headers, BODY, options))).toBe('INVALID_HEADER');
      },
    );

    test('a signature is not valid for another timestamp or id', () => {
      for (const change of [{ 'webhook-timestamp': String(NOW + 1) }, { 'webhook-id': 'msg_abd' }]) {
        const headers = { ...signed(), ...change };
        expect(codeOf(() => verifyWebhook(SECRET, headers, BODY, options))).toBe('SIGNATURE_MISMATCH');
      }
    });
  });

  describe('malformed input', () => {
    test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature'])(
      'a missing, repeated or non-string %s is refused',
      (name) => {
        const { [name as 'webhook-id']: value, ...rest } = signed();
        const check = (headers: object) => codeOf(() => verifyWebhook(SECRET, headers as Headers, BODY, options));
        expect(check(rest)).toBe('MISSING_HEADER');
        expect(check({ ...rest, [name]: undefined })).toBe('MISSING_HEADER');
        expect(check({ ...rest, [name]: [value, value] })).toBe('INVALID_HEADER');
        expect(check({ ...rest, [name]: value, [name.toUpperCase()]: value })).toBe('INVALID_HEADER');
        expect(check({ ...rest, [name]: 7 })).toBe('INVALID_HEADER');
      },
    );

    test('moving a full stop between id, timestamp and body does not produce another valid message', () => {
      const headers = {
        'webhook-id': 'msg_a.1699999999',
        'webhook-timestamp': String(NOW),
        'webhook-signature': createSignatureHeader([parseSigningSecret(SECRET)], 'msg_a', 1_699_999_999, `${NOW}.5`),
      };
      expect(codeOf(() => verifyWebhook(SECRET, headers, '5', options))).toBe('INVALID_HEADER');
    });

    test('the first 20 signatures count, so that a request cannot cause any amount of work', () => {
      const headers = signed();
      const codeAfter = (others: number) => {
        const all = [...Array(others).fill('v1,AAAA'), headers['webhook-signature']].join(' ');
        return codeOf(() => verifyWebhook(SECRET, { ...headers, 'webhook-signature': all }, BODY, options));
      };
      expect([codeAfter(19), codeAfter(20)]).toEqual(['accepted', 'SIGNATURE_MISMATCH']);
    });

    test('a parsed body is refused with a hint', () => {
      expect(() => verifyWebhook(SECRET, signed(), JSON.parse(BODY), options)).toThrow(/raw body/);
    });

    test.each([
      ['with the prototype of bytes', Object.create(Uint8Array.prototype)],
      ['that is a proxy of bytes', new Proxy(new TextEncoder().encode(BODY), {})],
      ['of another type of array', new Uint16Array(2)],
    ])('a body %s is refused', (_, body) => {
      expect(codeOf(() => verifyWebhook(SECRET, signed(), body, options))).toBe('INVALID_BODY');
    });

    test.each([undefined, null, '', 'whsec_', 'whsec_***', 5])('the secret %j is refused', (secret) => {
      expect(codeOf(() => verifyWebhook(secret as string, signed(), BODY, options))).toBe('INVALID_SECRET');
    });

    test('a secret with inexact base64 is refused: with a space in it, or with spare bits set', () => {
      const spaced = `${SECRET.slice(0, 20)} ${SECRET.slice(20)}`;
      const spare = `whsec_${'A'.repeat(42)}B=`;
      for (const secret of [spaced, spare]) {
        expect(codeOf(() => verifyWebhook(secret, signed(), BODY, options))).toBe('INVALID_SECRET');
      }
    });

    test('signed bytes that are not UTF-8 are refused as a payload', () => {
      const body = Buffer.from([0x22, 0xff, 0x22]);
      expect(codeOf(() => verifyWebhook(SECRET, signed(body), body, options))).toBe('INVALID_PAYLOAD');
    });
  });

  describe('properties', () => {
    test('whatever the input, only its own error class is thrown', () => {
      const value = fc.oneof(fc.anything(), fc.string({ unit: anyCharacter }));
      const headers = fc.oneof(
        fc.anything({ withNullPrototype: true, withMap: true }),
        fc.record({ 'webhook-id': value, 'webhook-timestamp': value, 'webhook-signature': value }),
        fc.record({ get: fc.constant(() => expect.unreachable()) }),
      );
      const body = fc.oneof(fc.anything(), fc.uint8Array(), fc.string({ unit: anyCharacter }));
      fc.assert(
        fc.property(fc.oneof(fc.constant(SECRET), value), headers, body, (secret, given, raw) => {
          const act = () => verifyWebhook(secret as string, given as Headers, raw as string, options);
          expect(codeOf(act)).not.toBe('accepted');
        }),
        { numRuns: 2000 },
      );
    });

    test('any signed bytes result in a payload or in INVALID_PAYLOAD', () => {
      fc.assert(
        fc.property(fc.uint8Array(), (bytes) => {
          const body = Buffer.from(bytes);
          expect(['accepted', 'INVALID_PAYLOAD']).toContain(
            codeOf(() => verifyWebhook(SECRET, signed(body), body, options)),
          );
        }),
      );
    });

    test('one changed byte of the body is detected', () => {
      fc.assert(
        fc.property(fc.nat(), fc.integer({ min: 1, max: 255 }), (at, flip) => {
          const body = Buffer.from(BODY);
          body[at % body.length]! ^= flip;
          expect(codeOf(() => verifyWebhook(SECRET, signed(), body, options))).toBe('SIGNATURE_MISMATCH');
        }),
      );
    });
  });
});
