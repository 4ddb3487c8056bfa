import { hash, randomBytes } from 'node:crypto';

const TOKEN = /^svc_[0-9a-f]{64}$/;

/** Generates an opaque session token: `svc_` and 64 hex digits (256 random bits). It can never look like an API key (`svc_ak_…`). */
export function generateToken(): string {
  return `svc_${randomBytes(32).toString('hex')}`;
}

/**
 * Returns the SHA-256 of a token in hex, the only form in which tokens are stored.
 * A fast hash is enough, because 256 random bits cannot be guessed.
 */
export function hashToken(token: string): string {
  return hash('sha256', token);
}

/** Whether `text` has the form of a session token. Malformed tokens are refused without a query. */
export function isWellFormedToken(text: string): boolean {
  return TOKEN.test(text);
}
