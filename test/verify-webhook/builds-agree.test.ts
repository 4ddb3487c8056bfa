// Property tests: for the same input, both builds return the same payload or throw the same error.
import { createSecretKey } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createSignatureHeader,
  generateKeyPair,
  parsePrivateSigningKey,
} from '../../src/extensions/webhooks/endpoints/signing.ts';
import { scaleRuns } from '../support/vitest/fuzz-runs.ts';
import { type VerifyWebhookBuild, verifyWebhookBuilds } from '../support/webhooks/verify-webhook-builds.ts';

const NOW = 1_700_000_000;
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

/** Returns what a build does: the payload, or the code and the message of its error. Any other error fails the test. */
function outcomeOf({ verifyWebhook, WebhookVerificationError }: VerifyWebhookBuild, ...given: unknown[]): object {
  try {
    return { payload: verifyWebhook(...(given as Parameters<typeof verifyWebhook>)) };
  } catch (error) {
    expect(error).toBeInstanceOf(WebhookVerificationError);
    const { name, code, message } = error as InstanceType<typeof WebhookVerificationError>;
    return { name, code, message };
  }
}

/** Expects the same from both builds. Returns whether they accepted the input. */
function expectSameOutcome(...given: unknown[]): boolean {
  const [first, second] = verifyWebhookBuilds.map(([, build]) => outcomeOf(build, ...given));
  expect(second).toEqual(first);
  return 'payload' in first!;
}

// Includes lone surrogates, which are signed as replacement characters.
const anyText = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) });
const bodies = fc.oneof(
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.jsonValue().map((value) => new TextEncoder().encode(JSON.stringify(value))),
  anyText,
  fc.uint8Array({ maxLength: 300 }),
);
const pairs = [generateKeyPair(), generateKeyPair()];
// Keys longer than a block of the hash are hashed first.
const secrets = fc
  .uint8Array({ minLength: 1, maxLength: 200 })
  .map((bytes) => ({ secret: `whsec_${base64(bytes)}`, key: createSecretKey(bytes) }));
const keyPairs = fc
  .constantFrom(...pairs)
  .map(({ publicKey, privateKey }) => ({ secret: publicKey, key: parsePrivateSigningKey(privateKey) }));

const PARTS = ['secret', 'id', 'time', 'signature'] as const;

/** A change of one character in one part of a delivery, or none. */
const changes = fc.option(
  fc.record({ part: fc.constantFrom(...PARTS), at: fc.nat(), character: fc.constantFrom(...'Aa0+/=., \n') }),
  { freq: 2 },
);

const forms: ((headers: Record<string, string>) => unknown)[] = [
  (headers) => headers,
  (headers) => new Map(Object.entries(headers)),
  (headers) => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]])),
];

test.each([
  ['secrets', secrets, scaleRuns(500)],
  ['public keys', keyPairs, scaleRuns(100)],
] as const)(
  'both builds agree on deliveries signed for random %s, intact or with a change anywhere',
  (_, signers, numRuns) => {
    let accepted = 0;
    fc.assert(
      fc.property(
        signers,
        bodies,
        fc.stringMatching(/^msg_[a-z]{1,20}$/),
        fc.integer({ min: -310, max: 310 }),
        changes,
        fc.constantFrom(...forms),
        (signer, body, messageId, offset, changed, form) => {
          const seconds = NOW + offset;
          const signature = createSignatureHeader([signer.key], messageId, seconds, body as string | Buffer);
          const parts = { secret: signer.secret, id: messageId, time: String(seconds), signature };
          if (changed !== null) {
            const text = parts[changed.part];
            const position = changed.at % (text.length + 1);
            parts[changed.part] = text.slice(0, position) + changed.character + text.slice(position + 1);
          }
          const headers = form({
            'webhook-id': parts.id,
            'webhook-timestamp': parts.time,
            'webhook-signature': parts.signature,
          });
          if (expectSameOutcome(parts.secret, headers, body, { now: NOW * 1000 })) accepted += 1;
        },
      ),
      { numRuns },
    );
    // About a quarter are unchanged and contain JSON.
    expect(accepted).toBeGreaterThan(numRuns / 20);
  },
);

test('both builds agree on random keys and signatures of the right length', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.constantFrom(...pairs).map(({ publicKey }) => publicKey),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
      ),
      fc.uint8Array({ minLength: 64, maxLength: 64 }),
      (key, signature) => {
        const headers = {
          'webhook-id': 'msg_a',
          'webhook-timestamp': String(NOW),
          'webhook-signature': `v1a,${base64(signature)}`,
        };
        const publicKey = typeof key === 'string' ? key : `whpk_${base64(key)}`;
        expect(expectSameOutcome(publicKey, headers, '{}', { now: NOW * 1000 })).toBe(false);
      },
    ),
    { numRuns: scaleRuns(200) },
  );
});

test('both builds agree on input of any type', () => {
  const value = fc.oneof(fc.anything(), anyText);
  const headers = fc.oneof(
    fc.anything({ withNullPrototype: true, withMap: true }),
    fc.record({ 'webhook-id': value, 'webhook-timestamp': value, 'webhook-signature': value }),
  );
  const options = fc.record(
    { toleranceSeconds: fc.oneof(fc.double(), fc.integer()), now: fc.oneof(fc.double(), fc.date()) },
    { requiredKeys: ['now'] },
  );
  fc.assert(
    fc.property(
      fc.oneof(
        secrets.map(({ secret }) => secret),
        value,
      ),
      headers,
      fc.oneof(bodies, value),
      options,
      (...given) => {
        expect(expectSameOutcome(...given)).toBe(false);
      },
    ),
    { numRuns: scaleRuns(1000) },
  );
});
