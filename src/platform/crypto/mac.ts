import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

/** Keyed hashes of texts: without a key, a text cannot be found by trying, however few candidates there are. */
export interface Macs {
  /** Returns the hash of `text` under the newest key, 64 hex digits. The hash depends on `context`. */
  of(text: string, context: string): string;
  /** Whether `mac` is the hash of this text and context under any of the keys. */
  isOf(mac: string, text: string, context: string): boolean;
}

/** Derives a MAC key from an encryption key: one key, one purpose (RFC 5869). */
function derived(key: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', Buffer.from(key, 'base64'), '', 'belfry mac', 32)));
}

/**
 * Creates keyed hashes: HMAC-SHA-256.
 *
 * @param keys the encryption keys: base64 of 32 bytes each, newest first
 */
export function createMacs(keys: readonly string[]): Macs {
  const ring = keys.map(derived);
  const mac = (key: KeyObject, text: string, context: string) =>
    createHmac('sha256', key).update(`${context.length}.${context}`).update(text).digest('hex');
  return {
    of: (text, context) => mac(ring[0]!, text, context),
    isOf: (given, text, context) => ring.some((key) => mac(key, text, context) === given),
  };
}
