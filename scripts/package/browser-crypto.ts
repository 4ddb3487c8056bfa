// The functions of node:crypto that packages/verify-webhook/src/index.ts calls, for runtimes without node:crypto. They accept and
// refuse the same input as those of Node.
import { ed25519 } from '@noble/curves/ed25519.js';
import { bytesToNumberLE } from '@noble/curves/utils.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256, sha512 } from '@noble/hashes/sha2.js';

const { Point } = ed25519;

interface Hmac {
  update(data: string | Uint8Array): Hmac;
  digest(encoding: 'base64'): string;
}

/** Starts an HMAC. */
export function createHmac(_algorithm: 'sha256', key: Uint8Array): Hmac {
  const state = hmac.create(sha256, key);
  return {
    update(data) {
      state.update(typeof data === 'string' ? new TextEncoder().encode(data) : data);
      return this;
    },
    digest: () => btoa(String.fromCharCode(...state.digest())),
  };
}

/** Compares bytes in a time that depends only on their number. @throws RangeError if the lengths differ */
export function timingSafeEqual(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) throw new RangeError('Input buffers must have the same byte length');
  let difference = 0;
  for (let i = 0; i < left.length; i++) difference |= left[i]! ^ right[i]!;
  return difference === 0;
}

/** Returns the bytes of an Ed25519 key. Like Node, it does not check that they encode a point: `verify` does. */
export function createPublicKey({
  key,
}: {
  key: { kty: 'OKP'; crv: 'Ed25519'; x: string };
  format: 'jwk';
}): Uint8Array {
  return Uint8Array.from(atob(key.x.replaceAll('-', '+').replaceAll('_', '/')), (byte) => byte.charCodeAt(0));
}

/**
 * Verifies an Ed25519 signature as Node does: R = [s]B − [h]A (RFC 8032, section 5.1.7, without the cofactor), compared as bytes, so that R
 * must be canonical. Keys and R of small order are refused, as the Web Crypto API requires; older versions of Node accept them. No honest
 * signer creates one.
 *
 * The library's own `ed25519.verify` multiplies the equation by the cofactor, so it accepts signatures that Node refuses.
 */
export function verify(_algorithm: null, text: Uint8Array, key: Uint8Array, signature: Uint8Array): boolean {
  const [encodedR, encodedS] = [signature.subarray(0, 32), signature.subarray(32)];
  const s = bytesToNumberLE(encodedS);
  // Otherwise s + L would be a second valid signature of the same text.
  if (s >= Point.Fn.ORDER) return false;
  const a = decodePoint(key);
  if (a === undefined || a.isSmallOrder()) return false;
  const h = Point.Fn.create(bytesToNumberLE(sha512.create().update(encodedR).update(key).update(text).digest()));
  const r = Point.BASE.multiplyUnsafe(s).subtract(a.multiplyUnsafe(h));
  return timingSafeEqual(r.toBytes(), encodedR) && !r.isSmallOrder();
}

function decodePoint(bytes: Uint8Array): InstanceType<typeof Point> | undefined {
  try {
    // `true` also decodes a coordinate that is not reduced, as Node does.
    return Point.fromBytes(bytes, true);
  } catch {
    return undefined;
  }
}
