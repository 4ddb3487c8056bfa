import type { Response } from 'express';
import type { Viewer } from '../../../declare/policy.ts';
import type { Keyring } from '../../../platform/crypto/keyring.ts';
import type { ApiError } from '../../../platform/errors.ts';
import type { SuccessResponse } from '../../../platform/http/response.ts';

/** Characters of JSON. */
const MAX_LENGTH = 2 ** 20;

/** The response or error of a request. */
export type Outcome = { answer: SuccessResponse } | { error: Pick<ApiError, 'code' | 'message' | 'details'> };

/** A response as it is stored. */
export interface StoredResponse {
  outcome: Outcome;
  /** The headers that the handler set. */
  headers: Record<string, number | string | string[]>;
  /** The roles of the user at that time: a user who has lost one may see less now. */
  roles: readonly string[];
}

/** What the ciphertext of a stored response is bound to. */
export function responseContext(id: string): string {
  return `idempotency_keys/answer/${id}`;
}

/**
 * Encrypts a response to be stored: it may hold any field of a record.
 *
 * @param before names of the headers that were set before the handler ran
 * @returns null for one that is too large to be kept
 */
export function sealResponse(
  keyring: Keyring,
  id: string,
  outcome: Outcome,
  of: { res: Response; user: Viewer | undefined },
  before: ReadonlySet<string>,
): string | null {
  const names = of.res.getHeaderNames().filter((name) => !before.has(name));
  const headers = Object.fromEntries(names.map((name) => [name, of.res.getHeader(name)!]));
  const kept: StoredResponse = { outcome, headers, roles: of.user?.roles ?? [] };
  const text = JSON.stringify(kept);
  return text.length > MAX_LENGTH ? null : keyring.encrypt(text, responseContext(id));
}

/** Decrypts what `sealResponse` returned. */
export function openResponse(keyring: Keyring, id: string, sealed: string): StoredResponse {
  return JSON.parse(keyring.decrypt(sealed, responseContext(id)));
}
