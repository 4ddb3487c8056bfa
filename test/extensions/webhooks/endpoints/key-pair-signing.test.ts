import { createPublicKey, verify } from 'node:crypto';
import fc from 'fast-check';
import { Client } from 'pg';
import { Webhook } from 'standardwebhooks';
import { afterAll, describe, expect, test } from 'vitest';
import { verifyWebhook, type WebhookVerificationError } from '../../../../packages/verify-webhook/src/index.ts';
import {
  createSignatureHeader,
  generateKeyPair,
  parsePrivateSigningKey,
} from '../../../../src/extensions/webhooks/endpoints/signing.ts';
import { defineResource, defineUser, f, webhooks } from '../../../../src/index.ts';
import { createKeyring } from '../../../../src/platform/data/crypto/keyring.ts';
import vector from '../../../data/webhook-key-pair-vector.json' with { type: 'json' };
import { type ReceivedRequest, startReceiver } from '../../../fakes/receiver.ts';
import { anyCharacter } from '../../../support/any-text.ts';
import { type Person, startTestApp } from '../../../support/app.ts';

const headersOf = (signature: string, id = vector.id, timestamp = vector.timestamp) => ({
  'webhook-id': id,
  'webhook-timestamp': String(timestamp),
  'webhook-signature': signature,
});
const options = { now: vector.timestamp * 1000 };
const codeOf = (act: () => unknown) => {
  try {
    act();
    return 'accepted';
  } catch (error) {
    return (error as WebhookVerificationError).code;
  }
};

describe('a signature', () => {
  test('matches the reference vector, for text and for bytes', () => {
    const key = parsePrivateSigningKey(vector.privateKey);
    expect(createSignatureHeader([key], vector.id, vector.timestamp, vector.body)).toBe(vector.signature);
    expect(createSignatureHeader([key], vector.id, vector.timestamp, Buffer.from(vector.body))).toBe(vector.signature);
  });

  test('of a new key pair is verified here and by node:crypto, and by neither with another key', () => {
    const [pair, other] = [generateKeyPair(), generateKeyPair()];
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const body = JSON.stringify({ text });
        const signature = createSignatureHeader(
          [parsePrivateSigningKey(pair.privateKey)],
          'msg_a',
          vector.timestamp,
          body,
        );
        const headers = headersOf(signature, 'msg_a');
        expect(verifyWebhook(pair.publicKey, headers, body, options)).toEqual({ text });
        expect(codeOf(() => verifyWebhook(other.publicKey, headers, body, options))).toBe('SIGNATURE_MISMATCH');
        expect(codeOf(() => verifyWebhook(pair.publicKey, headers, `${body} `, options))).toBe('SIGNATURE_MISMATCH');
        const x = Buffer.from(pair.publicKey.slice(5), 'base64').toString('base64url');
        const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
        const signed = Buffer.from(`msg_a.${vector.timestamp}.${body}`);
        expect(verify(null, signed, key, Buffer.from(signature.slice(4), 'base64'))).toBe(true);
      }),
      { numRuns: 50 },
    );
  });

  test('uses a private key of whsk_ and 64 bytes and a public key of whpk_ and its last 32 bytes, different in each pair', () => {
    const { privateKey, publicKey } = generateKeyPair();
    expect([privateKey, publicKey]).toEqual([
      expect.stringMatching(/^whsk_[A-Za-z0-9+/]{86}==$/),
      expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/),
    ]);
    expect(Buffer.from(privateKey.slice(5), 'base64').subarray(32)).toEqual(Buffer.from(publicKey.slice(5), 'base64'));
    expect(generateKeyPair().privateKey).not.toBe(privateKey);
  });

  test.each([
    ['empty', ''],
    ['a public key', vector.publicKey],
    ['cut short', vector.privateKey.slice(0, -4)],
    ['a key whose halves do not belong together', vector.privateKey.replace('LlX0dR', 'LlaaaR')],
  ])('a private key that is %s is refused without being printed', (_, key) => {
    expect(() => parsePrivateSigningKey(key)).toThrow(/^A private signing key is whsk_ followed by [^+/]+$/);
  });
});

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const encryptionKey = Buffer.alloc(32, 7).toString('base64');
const { person, env } = await startTestApp(
  { resources: [defineUser(), note], extensions: [webhooks({ maxEndpointsPerUser: 100 })] },
  { roles: 'all', env: () => ({ SVC_ENCRYPTION_KEYS: encryptionKey }) },
);
const client = new Client({ connectionString: env.DATABASE_URL });
await client.connect();
const receiver = await startReceiver();
afterAll(async () => {
  await client.end();
  await receiver.close();
});
const ann = await person('Ann');
const create = (who: Person, more: object) =>
  who.call('POST', '/api/webhooks', { url: receiver.url, events: ['note.created'], ...more });
const rotate = (id: string, body?: object) => ann.call('POST', `/api/webhooks/${id}/rotate-secret`, body);
const row = async (id: string) => (await client.query('select * from webhook_endpoints where id = $1', [id])).rows[0];
const accepts = (key: string, { headers, body }: ReceivedRequest) =>
  codeOf(() => verifyWebhook(key, headers, body)) === 'accepted';
/** The message that a test sends. */
async function sent(id: string): Promise<ReceivedRequest> {
  const before = receiver.requests.length;
  expect((await ann.call('POST', `/api/webhooks/${id}/test`)).body.data.status).toBe('succeeded');
  return receiver.requests[before]!;
}
const kinds = ({ headers }: ReceivedRequest) =>
  String(headers['webhook-signature'])
    .split(' ')
    .map((one) => one.split(',')[0]);

describe('an endpoint', () => {
  test('without v1a has one signature and shows no key', async () => {
    for (const more of [{}, { signing: 'v1' }]) {
      const { body } = await create(ann, more);
      expect(body.data).not.toHaveProperty('publicKey');
      expect(body.data).not.toHaveProperty('signing');
      expect(kinds(await sent(body.data.id))).toEqual(['v1']);
    }
  });

  test('with v1a always shows its public key, never its private key, and stores the private key encrypted', async () => {
    const { status, body } = await create(ann, { signing: 'v1a' });
    const { id, secret, publicKey, signing } = body.data;
    expect([status, signing, secret, publicKey]).toEqual([
      201,
      'v1a',
      expect.stringMatching(/^whsec_/),
      expect.stringMatching(/^whpk_[A-Za-z0-9+/]{43}=$/),
    ]);
    expect((await ann.call('GET', `/api/webhooks/${id}`)).body.data).toMatchObject({ signing, publicKey });
    expect(
      (await ann.call('GET', '/api/webhooks')).body.data.find((one: { id: string }) => one.id === id),
    ).toMatchObject({
      publicKey,
    });
    const stored = await row(id);
    expect(JSON.stringify([body, { ...stored, secret: '' }])).not.toContain('whsk_');
    const kept = createKeyring([encryptionKey]).decrypt(stored.secret, `webhook_endpoints/secret/${id}`);
    expect(kept).toMatch(/^whsec_\S+ whsk_\S+$/);

    const message = await sent(id);
    expect(kinds(message)).toEqual(['v1', 'v1a']);
    expect([accepts(secret, message), accepts(publicKey, message)]).toEqual([true, true]);
    // A library that knows only v1 finds the v1 signature.
    expect(() => new Webhook(secret).verify(message.body, message.headers as Record<string, string>)).not.toThrow();
  });

  test('signs after a rotation with old and new secrets and keys, the new ones first, and after the grace time with the new ones only', async () => {
    const first = (await create(ann, { signing: 'v1a' })).body.data;
    const { status, headers, body } = await rotate(first.id);
    const second = body.data;
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(second.publicKey).not.toBe(first.publicKey);
    expect((await ann.call('GET', `/api/webhooks/${first.id}`)).body.data.publicKey).toBe(second.publicKey);
    const during = await sent(first.id);
    expect(kinds(during)).toEqual(['v1', 'v1a', 'v1', 'v1a']);
    const keys = [first.secret, first.publicKey, second.secret, second.publicKey];
    expect(keys.map((key) => accepts(key, during))).toEqual([true, true, true, true]);
    const [newV1, newV1a] = String(during.headers['webhook-signature']).split(' ');
    const only = (signature: string) => ({ ...during, headers: { ...during.headers, 'webhook-signature': signature } });
    expect([accepts(second.secret, only(newV1!)), accepts(second.publicKey, only(newV1a!))]).toEqual([true, true]);

    await client.query(
      'update webhook_endpoints set previous_secret_until = now() - make_interval(secs => 1) where id = $1',
      [first.id],
    );
    const after = await sent(first.id);
    expect(keys.map((key) => accepts(key, after))).toEqual([false, false, true, true]);
  });

  test('changes to v1a and back by a rotation, and uses the previous signature too during the grace time', async () => {
    const { id, secret } = (await create(ann, {})).body.data;
    const changed = (await rotate(id, { signing: 'v1a' })).body.data;
    expect(changed.publicKey).toMatch(/^whpk_/);
    const message = await sent(id);
    expect(kinds(message)).toEqual(['v1', 'v1a', 'v1']);
    expect([secret, changed.secret, changed.publicKey].map((key) => accepts(key, message))).toEqual([true, true, true]);
    const back = (await rotate(id, { signing: 'v1' })).body.data;
    expect(back).not.toHaveProperty('publicKey');
    expect(kinds(await sent(id))).toEqual(['v1', 'v1', 'v1a', 'v1']);
    expect((await row(id)).public_key).toBeNull();
  });

  test.each([
    ['create', (body: object) => create(ann, body)],
    ['rotation', async (body: object) => rotate((await create(ann, {})).body.data.id, body)],
  ])('responds 422 for an unknown signing at a %s', async (_, act) => {
    for (const signing of ['v2', '', 1, null, ['v1a']]) {
      const { status, body } = await act({ signing });
      expect([status, body.error.details]).toEqual([422, { signing: 'Must be one of: v1, v1a' }]);
    }
    expect((await act({ privateKey: 'whsk_' })).status).toBe(422);
  });

  test('keeps its signing after a rotation without a body or with an empty one', async () => {
    const { id } = (await create(ann, { signing: 'v1a' })).body.data;
    for (const body of [undefined, {}]) expect((await rotate(id, body)).body.data.signing).toBe('v1a');
  });
});
