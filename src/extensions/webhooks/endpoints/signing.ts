import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign as signWith,
} from 'node:crypto';
import type { EncryptedColumn } from '../../../platform/crypto/encrypted-column.ts';
import type { Keyring } from '../../../platform/crypto/keyring.ts';
import { secretContext } from './endpoint.ts';

/** How messages are signed: `v1` by a secret that both sides know, `v1a` by a private key besides, of which receivers know the public one. */
export const SIGNINGS = ['v1', 'v1a'] as const;

/** One of them. */
export type Signing = (typeof SIGNINGS)[number];

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
const PRIVATE_KEY = /^whsk_([A-Za-z0-9+/]{86}==)$/;

/** A new signing secret: `whsec_` and the base64 of 32 random bytes (Standard Webhooks asks for 24 to 64). */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/**
 * A new ed25519 key pair (RFC 8032): `whsk_` and the base64 of seed and public key, as libsodium writes private keys, and `whpk_` and
 * that of the public key alone.
 */
export function newKeyPair(): { privateKey: string; publicKey: string } {
  const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [seed, point] = [d!, x!].map((part) => Buffer.from(part, 'base64url')) as [Buffer, Buffer];
  return {
    privateKey: `whsk_${Buffer.concat([seed, point]).toString('base64')}`,
    publicKey: `whpk_${point.toString('base64')}`,
  };
}

/** All that an endpoint signs with, made anew. */
export interface SigningSecrets {
  /** The shared secret, which the owner sees once. */
  secret: string;
  publicKey: string | null;
  /** What is kept, encrypted. */
  kept: string;
}

/** Creates the secrets that an endpoint signs with. */
export function newSigningSecrets(signing: Signing): SigningSecrets {
  const secret = newSecret();
  if (signing === 'v1') return { secret, publicKey: null, kept: secret };
  const { privateKey, publicKey } = newKeyPair();
  return { secret, publicKey, kept: `${secret} ${privateKey}` };
}

/**
 * The key behind a secret. Keep it and sign with it: an HMAC with raw key bytes takes six times as long.
 *
 * @param secret `whsec_` and the base64 of 24 to 64 bytes
 * @throws Error, which does not hold the secret, when it has another form
 */
export function signingKey(secret: string): KeyObject {
  const encoded = SECRET.exec(secret)?.[1];
  const bytes = Buffer.from(encoded ?? '', 'base64');
  if (bytes.toString('base64') !== encoded || bytes.length < 24 || bytes.length > 64) {
    throw new Error('A signing secret is whsec_ followed by the base64 of 24 to 64 bytes');
  }
  return createSecretKey(bytes);
}

/**
 * The key behind a private key.
 *
 * @param privateKey `whsk_…`, as `newKeyPair` makes it
 * @throws Error, which does not hold the key, when it has another form, or its halves do not belong together
 */
export function privateSigningKey(privateKey: string): KeyObject {
  const bytes = Buffer.from(PRIVATE_KEY.exec(privateKey)?.[1] ?? '', 'base64');
  const [d, x] = [bytes.subarray(0, 32), bytes.subarray(32)].map((half) => half.toString('base64url'));
  if (bytes.length === 64) {
    const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' });
    if (createPublicKey(key).export({ format: 'jwk' }).x === x) return key;
  }
  throw new Error('A private signing key is whsk_ followed by the base64 of 64 bytes: its seed and its public key');
}

/** The keys behind what is kept for an endpoint. Throws like `signingKey` and `privateSigningKey`. */
export function signingKeys(kept: string): KeyObject[] {
  const [secret, privateKey] = kept.split(' ');
  return [signingKey(secret!), ...(privateKey === undefined ? [] : [privateSigningKey(privateKey)])];
}

/**
 * The `webhook-signature` header of one attempt, by the Standard Webhooks specification: base64 HMAC-SHA256 of `id.timestamp.body`, or
 * its ed25519 signature.
 *
 * @param keys one key, or during a rotation the new one and those that are still in their grace time; secret ones and private ones
 * @param id the message id, the same on every attempt
 * @param timestampSeconds when this attempt is made, in whole Unix seconds
 * @param body the body as it is sent; a string counts as its UTF-8 bytes
 * @returns `v1,<base64>` or `v1a,<base64>`, one for each key, separated by spaces
 */
export function sign(keys: KeyObject[], id: string, timestampSeconds: number, body: string | Buffer): string {
  const start = `${id}.${timestampSeconds}.`;
  const one = (key: KeyObject) =>
    key.type === 'private'
      ? `v1a,${signWith(null, Buffer.concat([Buffer.from(start), Buffer.from(body)]), key).toString('base64')}`
      : `v1,${createHmac('sha256', key).update(start).update(body).digest('base64')}`;
  return keys.map(one).join(' ');
}

/** The keys of an endpoint, from its stored secret. */
export type SigningKeys = (endpointId: string, storedSecret: string) => KeyObject[];

/** The columns that hold secrets of endpoints. */
export const encryptedSecrets: readonly EncryptedColumn[] = ['secret', 'previous_secret', 'older_secret'].map(
  (column) => ({ name: `webhook_endpoints.${column}`, table: 'webhook_endpoints', column, context: secretContext }),
);

const MAX_KEPT_KEYS = 10_000;

/** Keeps the keys that were used last: decrypting a secret and making a key of it takes longer than a signature. */
export function createSigningKeys(keyring: Keyring): SigningKeys {
  const keys = new Map<string, KeyObject[]>();
  return (endpointId, storedSecret) => {
    // By endpoint too: a ciphertext that was copied from another one must not be found here.
    const place = `${endpointId}/${storedSecret}`;
    const kept = keys.get(place);
    const found = kept ?? signingKeys(keyring.decrypt(storedSecret, secretContext(endpointId)));
    // Taken out and put in again, they become the youngest; the oldest are the first.
    keys.delete(place);
    keys.set(place, found);
    if (keys.size > MAX_KEPT_KEYS) keys.delete(keys.keys().next().value!);
    return found;
  };
}
