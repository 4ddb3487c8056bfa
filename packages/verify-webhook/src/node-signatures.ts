// Verifies signatures with node:crypto. It must run on Node 18, Bun and Deno: apart from node:crypto, it uses only web platform APIs. For
// browsers and Workers, scripts/package/bundle-verify-webhook.ts replaces node:crypto.
import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';
import { decodeKeySignatures, encodeSignedText, toBase64, type WebhookKey, type WebhookMessage } from './message.ts';

/** Returns whether one of the signatures of a message matches. */
export function isGenuine({ scheme, bytes }: WebhookKey, message: WebhookMessage): boolean {
  return scheme === 'v1' ? isSignedWithSecret(bytes, message) : isSignedWithKeyPair(bytes, message);
}

function isSignedWithSecret(secret: Uint8Array, { start, body, signatures }: WebhookMessage): boolean {
  const mac = createHmac('sha256', secret).update(start).update(body).digest('base64');
  return signatures.some((signature) => isEqualInConstantTime(signature, `v1,${mac}`));
}

/** Verifies signatures with a public key. Ignores `v1` signatures: anyone could compute them from a public key. */
function isSignedWithKeyPair(publicKey: Uint8Array, message: WebhookMessage): boolean {
  const key = importPublicKey(publicKey);
  if (key === undefined) return false;
  const text = encodeSignedText(message);
  return decodeKeySignatures(message).some((signature) => verify(null, text, key, signature));
}

/**
 * Returns undefined if the bytes encode no point and the runtime refuses such a key, as Deno does. Others accept it; either way, no
 * signature matches.
 */
function importPublicKey(bytes: Uint8Array): ReturnType<typeof createPublicKey> | undefined {
  const x = toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace('=', '');
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

function isEqualInConstantTime(given: string, expected: string): boolean {
  const encoder = new TextEncoder();
  const [left, right] = [encoder.encode(given), encoder.encode(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
