import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

const SECRET = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** A new signing secret: `whsec_` and the base64 of 32 random bytes (Standard Webhooks asks for 24 to 64). */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
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
 * The `webhook-signature` header of one attempt, by the Standard Webhooks specification: base64 HMAC-SHA256 of `id.timestamp.body`.
 *
 * @param keys one key, or during a rotation the new one and those that are still in their grace time
 * @param id the message id, the same on every attempt
 * @param timestampSeconds when this attempt is made, in whole Unix seconds
 * @param body the body as it is sent; a string counts as its UTF-8 bytes
 * @returns `v1,<base64>`, one for each key, separated by spaces
 */
export function sign(keys: KeyObject[], id: string, timestampSeconds: number, body: string | Buffer): string {
  const start = `${id}.${timestampSeconds}.`;
  return keys.map((key) => `v1,${createHmac('sha256', key).update(start).update(body).digest('base64')}`).join(' ');
}
