import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

/** Encrypts and decrypts short texts under several keys. The newest key encrypts. */
export interface Keyring {
  /** The ids of the keys in the ring, newest first. An id is the fingerprint of a key and may be shown. */
  readonly keyIds: readonly string[];
  /**
   * Encrypts `plain` bound to `context` (`resource/field/record id`), which is required for decryption.
   *
   * @param keyId a key of the ring; default: the newest
   */
  encrypt(plain: string, context: string, keyId?: string): string;
  /** Decrypts a result of `encrypt` under any key of the ring. @throws DecryptionError */
  decrypt(text: string, context: string): string;
}

/** Why a ciphertext was refused: its form, a key that is not in the ring, or an authentication tag that does not match. */
type DecryptionFailure = 'malformed' | 'unknown-key' | 'not-authentic';

const FAILURE_TEXTS: Record<DecryptionFailure, string> = {
  malformed: 'is not a ciphertext',
  'unknown-key': 'was encrypted with a key that is not among the encryption keys',
  'not-authentic': 'was altered, moved from another place, or written with another key',
};

/** A stored value could not be decrypted. The error names its location, and contains neither the plain text nor the ciphertext. */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError';
  readonly code = 'DECRYPTION_FAILED';
  readonly reason: DecryptionFailure;

  constructor(reason: DecryptionFailure, context: string) {
    super(`The stored value of ${context} ${FAILURE_TEXTS[reason]}`);
    this.reason = reason;
  }
}

const VERSION = 'v1';
const KEY_ID_DIGITS = 8;
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The prefix of every ciphertext of a key: `v1.<key id>.`. */
export function ciphertextPrefix(keyId: string): string {
  return `${VERSION}.${keyId}.`;
}

/** The length of a ciphertext's prefix, and a Postgres regular expression that matches the prefix: its group is the key id. */
export const CIPHERTEXT_PREFIX = {
  length: ciphertextPrefix('').length + KEY_ID_DIGITS,
  pattern: `^${VERSION}[.]([0-9a-f]{${KEY_ID_DIGITS}})[.]$`,
};

/**
 * Creates an AES-256-GCM key ring (NIST SP 800-38D: 96-bit random IV, 128-bit tag).
 * Ciphertexts have the form `v1.<key id>.<iv>.<tag>.<data>`: the key id is the first 8 hex digits of the key's SHA-256, the rest base64url.
 *
 * @param keys base64 of 32 bytes each, newest first
 * @throws Error that lists every unusable key by its position, never a key itself
 */
export function createKeyring(keys: string[]): Keyring {
  const ring = parseEncryptionKeys(keys);
  const keyIds = [...ring.keys()];

  return {
    keyIds,

    encrypt(plain, context, keyId = keyIds[0]!) {
      const key = ring.get(keyId);
      if (!key) throw new Error(`The key ring has no key ${keyId}`);
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
      cipher.setAAD(Buffer.from(context, 'utf8'));
      const data = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      const parts = [iv, cipher.getAuthTag(), data].map((part) => part.toString('base64url'));
      return ciphertextPrefix(keyId) + parts.join('.');
    },

    decrypt(text, context) {
      const parsed = parseCiphertext(text);
      if (parsed === undefined) throw new DecryptionError('malformed', context);
      const { keyId, iv, tag, data } = parsed;
      const key = ring.get(keyId);
      if (!key) throw new DecryptionError('unknown-key', context);
      const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(context, 'utf8'));
      decipher.setAuthTag(tag);
      try {
        return Buffer.concat([decipher.update(data), decipher.final()]).toString('utf8');
      } catch {
        throw new DecryptionError('not-authentic', context);
      }
    },
  };
}

function parseEncryptionKeys(keys: string[]): Map<string, KeyObject> {
  const ring = new Map<string, KeyObject>();
  const errors = keys.length === 0 ? ['no key is set'] : [];
  for (const [index, text] of keys.entries()) {
    const bytes = decodeBase64(text.trim(), 'base64');
    const id = bytes && createHash('sha256').update(bytes).digest('hex').slice(0, KEY_ID_DIGITS);
    if (!bytes || !id) errors.push(`key ${index + 1} is not base64`);
    else if (bytes.length !== KEY_BYTES)
      errors.push(`key ${index + 1} has ${bytes.length} bytes instead of ${KEY_BYTES}`);
    else if (ring.has(id)) errors.push(`key ${index + 1} repeats an earlier key`);
    else ring.set(id, createSecretKey(bytes));
  }
  if (errors.length > 0) {
    throw new Error(
      `Encryption keys: ${errors.join('; ')} (each is the base64 of ${KEY_BYTES} random bytes, newest first)`,
    );
  }
  return ring;
}

/** Splits a ciphertext into the key id, the IV, the authentication tag and the encrypted data; undefined if it is malformed. */
function parseCiphertext(text: string): { keyId: string; iv: Buffer; tag: Buffer; data: Buffer } | undefined {
  const [version, keyId, ...encoded] = text.split('.');
  const [iv, tag, data] = encoded.map((part) => decodeBase64(part, 'base64url'));
  if (version !== VERSION || !keyId || encoded.length !== 3 || !data) return undefined;
  if (iv?.length !== IV_BYTES || tag?.length !== TAG_BYTES) return undefined;
  return { keyId, iv, tag, data };
}

// Node's decoder skips invalid characters and ignores spare bits, so re-encode to check that the text was exact.
function decodeBase64(text: string, encoding: 'base64' | 'base64url'): Buffer | null {
  const bytes = Buffer.from(text, encoding);
  return bytes.toString(encoding) === text ? bytes : null;
}

/** Keyed hashes of texts: without a key, nobody can find the text of a hash by trying candidates, however few there are. */
interface KeyedHashes {
  /** Returns the hash of `text` under the newest key, 64 hex digits. The hash depends on `context`. */
  hash(text: string, context: string): string;
  /** Whether `given` is the hash of this text and context under any of the keys. */
  matches(given: string, text: string, context: string): boolean;
}

/** Derives the HMAC key from an encryption key (RFC 5869), because a key must serve only one purpose. */
function deriveHashKey(key: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', Buffer.from(key, 'base64'), '', 'belfry mac', 32)));
}

/**
 * Creates keyed hashes: HMAC-SHA-256.
 *
 * @param keys the encryption keys: base64 of 32 bytes each, newest first
 */
export function createKeyedHashes(keys: readonly string[]): KeyedHashes {
  const ring = keys.map(deriveHashKey);
  const computeMac = (key: KeyObject, text: string, context: string) =>
    createHmac('sha256', key).update(`${context.length}.${context}`).update(text).digest('hex');
  return {
    hash: (text, context) => computeMac(ring[0]!, text, context),
    matches: (given, text, context) => {
      const bytes = Buffer.from(given);
      return ring.some((key) => {
        const expected = Buffer.from(computeMac(key, text, context));
        return expected.length === bytes.length && timingSafeEqual(expected, bytes);
      });
    },
  };
}
