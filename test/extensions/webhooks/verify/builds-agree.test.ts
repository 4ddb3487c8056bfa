// Property tests: for the same input, both builds return the same payload or throw the same error.
import { createSecretKey } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createSignatureHeader,
  generateKeyPair,
  parsePrivateSigningKey,
} from '../../../../src/extensions/webhooks/endpoints/signing.ts';
import { type VerifyWebhookBuild, verifyWebhookBuilds } from '../../../support/webhooks/verify-webhook-builds.ts';

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

/** A change of one character, or none. */
const changes = fc.option(fc.tuple(fc.nat(), fc.constantFrom(...'Aa0+/=., \n')), { freq: 3 });
function change(text: string, at: [number, string] | null): string {
  if (at === null) return text;
  const position = at[0] % (text.length + 1);
  return text.slice(0, position) + at[1] + text.slice(position + 1);
}

const forms: ((headers: Record<string, string>) => unknown)[] = [
  (headers) => headers,
  (headers) => new Map(Object.entries(headers)),
  (headers) => Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), [value]])),
];

test.each([
  ['secrets', secrets, 500],
  ['public keys', keyPairs, 100],
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
        fc.record({ secret: changes, id: changes, time: changes, signature: changes }),
        fc.constantFrom(...forms),
        ({ secret, key }, body, id, offset, changed, form) => {
          const signature = createSignatureHeader([key], id, NOW + offset, body as string | Buffer);
          const headers = form({
            'webhook-id': change(id, changed.id),
            'webhook-timestamp': change(String(NOW + offset), changed.time),
            'webhook-signature': change(signature, changed.signature),
          });
          if (expectSameOutcome(change(secret, changed.secret), headers, body, { now: NOW * 1000 })) accepted += 1;
        },
      ),
      { numRuns },
    );
    expect(accepted).toBeGreaterThan(0);
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
    { numRuns: 200 },
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
    { numRuns: 1000 },
  );
});
