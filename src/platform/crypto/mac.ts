import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

/** Keyed hashes of texts: without a key nobody can find a text by trying, however few there are to try. */
export interface Macs {
  /** The hash of `text` under the newest key, 64 hex digits. Texts of another `context` have other hashes. */
  of(text: string, context: string): string;
  /** Whether `mac` is what `of` gave for this text and context under any of the keys. */
  isOf(mac: string, text: string, context: string): boolean;
}

/** Made from the encryption keys, and never the same: one key, one purpose (RFC 5869). */
function derived(key: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', Buffer.from(key, 'base64'), '', 'belfry mac', 32)));
}

/**
 * Makes keyed hashes: HMAC-SHA-256.
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
