import type { IncomingMessage } from 'node:http';
import type { Viewer } from '../../declare/actor.ts';
import type { createKeyedHashes } from '../../platform/data/crypto/keyring.ts';
import { generateToken, hashToken, isWellFormedToken } from '../../platform/data/crypto/token.ts';
import { addressOf, clientKeyOf } from '../../platform/http/client-address.ts';

/** The owner of an upload until a record refers to it. */
export interface Uploader {
  userId: string | undefined;
  /** The key by which pending uploads are counted. */
  key: string;
  /** The token of a caller who is not signed in, for the response. Only its hash is stored. */
  token: string | undefined;
  tokenHash: string | undefined;
}

/** Code that stores files. */
export const SYSTEM_UPLOADER: Uploader = { userId: undefined, key: 'system', token: undefined, tokenHash: undefined };

/** Returns the uploader of a request: its user, or a new token for a caller who is not signed in. */
export function identifyUploader(
  user: Viewer | undefined,
  req: IncomingMessage,
  hashes: ReturnType<typeof createKeyedHashes>,
): Uploader {
  if (user !== undefined) return { userId: user.id, key: `user:${user.id}`, token: undefined, tokenHash: undefined };
  const token = generateToken();
  // The address itself is not stored: a hash is enough to count by it.
  const key = `client:${hashes.hash(clientKeyOf(addressOf(req)), 'file uploads')}`;
  return { userId: undefined, key, token, tokenHash: hashToken(token) };
}

/** The hash of the token that a caller presents; undefined if it is not one. */
export function presentedTokenHash(token: unknown): string | undefined {
  return typeof token === 'string' && isWellFormedToken(token) ? hashToken(token) : undefined;
}
