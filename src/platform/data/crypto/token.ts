import { hash, randomBytes } from 'node:crypto';

const SESSION_PREFIX = 'svc_';
const DIGITS = /^[0-9a-f]{64}$/;

/**
 * Generates an opaque token: a prefix and 64 hex digits (256 random bits). Logs redact tokens that begin with `svc_`.
 *
 * @param prefix default: that of session tokens, which can never look like another kind, such as an API key (`svc_ak_…`)
 */
export function generateToken(prefix = SESSION_PREFIX): string {
  return prefix + randomBytes(32).toString('hex');
}

/** Whether `text` has the form of a token with this prefix. Malformed tokens are refused without a query. */
export function isWellFormedToken(text: string, prefix = SESSION_PREFIX): boolean {
  return text.startsWith(prefix) && DIGITS.test(text.slice(prefix.length));
}

/** Generates a one-time secret: 256 random bits in base64url, which is 43 characters. */
export function generateSecret(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Returns the SHA-256 of a token or secret in hex, the only form in which they are stored.
 * A fast hash is enough, because 256 random bits cannot be guessed.
 */
export function hashToken(token: string): string {
  return hash('sha256', token);
}
