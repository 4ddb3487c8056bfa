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
import type { EncryptedColumn, Keyring } from '../../../extension/index.ts';
import { secretEncryptionContext } from './endpoint.ts';

/** How messages are signed. `v1`: with a shared secret. `v1a`: also with a private key; receivers know its public key. */
export const SIGNINGS = ['v1', 'v1a'] as const;

/** A value of `SIGNINGS`. */
type Signing = (typeof SIGNINGS)[number];

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;
const PRIVATE_KEY = /^whsk_([A-Za-z0-9+/]{86}==)$/;

/** Creates a signing secret: `whsec_` and the base64 of 32 random bytes (Standard Webhooks requires 24 to 64). */
export function generateSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/**
 * Creates an ed25519 key pair (RFC 8032): `whsk_` and the base64 of seed and public key, the private key format of libsodium, and
 * `whpk_` and the base64 of the public key.
 */
export function generateKeyPair(): { privateKey: string; publicKey: string } {
  const { d, x } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  const [seed, point] = [d!, x!].map((part) => Buffer.from(part, 'base64url')) as [Buffer, Buffer];
  return {
    privateKey: `whsk_${Buffer.concat([seed, point]).toString('base64')}`,
    publicKey: `whpk_${point.toString('base64')}`,
  };
}

/** New secrets that sign an endpoint's deliveries, generated when the endpoint is created or its secret is rotated. */
interface SigningSecrets {
  /** The shared secret, which the owner sees only once. */
  secret: string;
  publicKey: string | null;
  /** All secrets in the form that is encrypted and stored. */
  kept: string;
}

/** Creates the secrets that an endpoint signs with. */
export function generateSigningSecrets(signing: Signing): SigningSecrets {
  const secret = generateSecret();
  if (signing === 'v1') return { secret, publicKey: null, kept: secret };
  const { privateKey, publicKey } = generateKeyPair();
  return { secret, publicKey, kept: `${secret} ${privateKey}` };
}

/**
 * Parses a shared secret into a key. Keep the key for later signatures: an HMAC with raw key bytes takes six times as long.
 *
 * @param secret `whsec_` and the base64 of 24 to 64 bytes
 * @throws Error without the secret in its message if the secret has another form
 */
export function parseSigningSecret(secret: string): KeyObject {
  const encoded = SECRET.exec(secret)?.[1];
  const bytes = Buffer.from(encoded ?? '', 'base64');
  if (bytes.toString('base64') !== encoded || bytes.length < 24 || bytes.length > 64) {
    throw new Error('A signing secret is whsec_ followed by the base64 of 24 to 64 bytes');
  }
  return createSecretKey(bytes);
}

/**
 * Parses a private key.
 *
 * @param privateKey `whsk_…`, as `generateKeyPair` returns it
 * @throws Error without the key in its message if the key has another form, or its halves do not match
 */
export function parsePrivateSigningKey(privateKey: string): KeyObject {
  const bytes = Buffer.from(PRIVATE_KEY.exec(privateKey)?.[1] ?? '', 'base64');
  const [d, x] = [bytes.subarray(0, 32), bytes.subarray(32)].map((half) => half.toString('base64url'));
  if (bytes.length === 64) {
    const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' });
    if (createPublicKey(key).export({ format: 'jwk' }).x === x) return key;
  }
  throw new Error('A private signing key is whsk_ followed by the base64 of 64 bytes: its seed and its public key');
}

/** Parses the keys of an endpoint from its stored secrets. Throws like `parseSigningSecret` and `parsePrivateSigningKey`. */
export function parseSigningKeys(kept: string): KeyObject[] {
  const [secret, privateKey] = kept.split(' ');
  return [parseSigningSecret(secret!), ...(privateKey === undefined ? [] : [parsePrivateSigningKey(privateKey)])];
}

/**
 * Returns the `webhook-signature` header of one attempt, according to the Standard Webhooks specification: the base64 HMAC-SHA256 of
 * `id.timestamp.body`, or its ed25519 signature.
 *
 * @param keys one key, or during a rotation the new one and those still in their grace period; secret and private keys
 * @param id the message id, the same on every attempt
 * @param timestampSeconds time of this attempt, in whole Unix seconds
 * @param body the body as sent; a string stands for its UTF-8 bytes
 * @returns `v1,<base64>` or `v1a,<base64>` for each key, separated by spaces
 */
export function createSignatureHeader(
  keys: KeyObject[],
  id: string,
  timestampSeconds: number,
  body: string | Buffer,
): string {
  const start = `${id}.${timestampSeconds}.`;
  const signWithKey = (key: KeyObject) =>
    key.type === 'private'
      ? `v1a,${signWith(null, Buffer.concat([Buffer.from(start), Buffer.from(body)]), key).toString('base64')}`
      : `v1,${createHmac('sha256', key).update(start).update(body).digest('base64')}`;
  return keys.map(signWithKey).join(' ');
}

/** Returns the keys of an endpoint from its stored secret. */
export type SigningKeyLookup = (endpointId: string, storedSecret: string) => KeyObject[];

/** The columns that hold secrets of endpoints. */
export const encryptedSecrets: readonly EncryptedColumn[] = ['secret', 'previous_secret', 'older_secret'].map(
  (column) => ({
    name: `webhook_endpoints.${column}`,
    table: 'webhook_endpoints',
    column,
    context: secretEncryptionContext,
  }),
);

const MAX_KEPT_KEYS = 10_000;

/** Caches recently used keys: decrypting a secret and parsing its key takes longer than a signature. */
export function createSigningKeyCache(keyring: Keyring): SigningKeyLookup {
  const keys = new Map<string, KeyObject[]>();
  return (endpointId, storedSecret) => {
    // Include the endpoint: a ciphertext copied from another endpoint must not be found in the cache.
    const cacheKey = `${endpointId}/${storedSecret}`;
    const kept = keys.get(cacheKey);
    const found = kept ?? parseSigningKeys(keyring.decrypt(storedSecret, secretEncryptionContext(endpointId)));
    // Insert again to move it to the end: the map is ordered from the least to the most recently used key.
    keys.delete(cacheKey);
    keys.set(cacheKey, found);
    if (keys.size > MAX_KEPT_KEYS) keys.delete(keys.keys().next().value!);
    return found;
  };
}
