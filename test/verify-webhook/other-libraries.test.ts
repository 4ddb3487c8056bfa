// Belfry and the public packages for Standard Webhooks accept each other's signatures.
import fc from 'fast-check';
import * as standard from 'standardwebhooks';
import * as svix from 'svix';
import { describe, expect, test } from 'vitest';
import {
  createSignatureHeader,
  generateSecret,
  parseSigningSecret,
} from '../../src/extensions/webhooks/endpoints/signing.ts';
import vectors from '../data/webhook-vectors.json' with { type: 'json' };
import { anyCharacter } from '../support/any-text.ts';
import { verifyWebhookBuilds } from '../support/webhooks/verify-webhook-builds.ts';

const [secret, foreign] = [generateSecret(), generateSecret()];
const headersOf = (timestamp: number, signature: string) => ({
  'webhook-id': 'msg_abc',
  'webhook-timestamp': String(timestamp),
  'webhook-signature': signature,
});
const bodies = fc.oneof(
  fc.jsonValue().map((data) => JSON.stringify({ type: 'post.created', data })),
  fc.string({ unit: anyCharacter }).map((text) => JSON.stringify({ text })),
);

describe.each([
  ['standardwebhooks', standard],
  ['svix', svix],
])('%s', (_, { Webhook }) => {
  test('verifies Belfry’s signatures, during a rotation with either secret', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        const now = Math.floor(Date.now() / 1000);
        for (const keys of [[secret], [secret, foreign], [foreign, secret]]) {
          const headers = headersOf(now, createSignatureHeader(keys.map(parseSigningSecret), 'msg_abc', now, body));
          expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
          expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow();
        }
        const headers = headersOf(now, createSignatureHeader([parseSigningSecret(foreign)], 'msg_abc', now, body));
        expect(() => new Webhook(secret).verify(body, headers)).toThrow();
      }),
    );
  });

  test.each(verifyWebhookBuilds)('creates signatures that Belfry’s build %s verifies', (_, { verifyWebhook }) => {
    fc.assert(
      fc.property(bodies, (body) => {
        const now = new Date();
        const signature = new Webhook(secret).sign('msg_abc', now, body);
        const headers = headersOf(Math.floor(now.getTime() / 1000), signature);
        expect(verifyWebhook(secret, headers, body)).toEqual(JSON.parse(body));
        expect(() => verifyWebhook(foreign, headers, body)).toThrow('No signature matches');
      }),
    );
  });

  test.each(vectors)('computes the same signature: $id $body', (vector) => {
    const { id, timestamp, body } = vector;
    const theirs = new Webhook(vector.secret).sign(id, new Date(timestamp * 1000), body);
    expect([theirs, createSignatureHeader([parseSigningSecret(vector.secret)], id, timestamp, body)]).toEqual([
      vector.signature,
      vector.signature,
    ]);
  });
});
