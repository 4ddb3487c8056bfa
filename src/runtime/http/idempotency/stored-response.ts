import type { Response } from 'express';
import { isEmailVerified } from '../../../declare/actor.ts';
import type { Viewer } from '../../../declare/policy.ts';
import type { Keyring } from '../../../platform/data/crypto/keyring.ts';
import type { ApiError } from '../../../platform/helpers/errors.ts';
import type { SuccessResponse } from '../../../platform/http/response.ts';
import type { ResponseRecord } from '../../../records/serialize/response-records.ts';

/** Maximum length of a stored response, in characters of JSON. */
const MAX_LENGTH = 2 ** 20;

/** The response or error of a request. */
export type Outcome = { answer: SuccessResponse } | { error: Pick<ApiError, 'code' | 'message' | 'details'> };

/** A response as it is stored, encrypted, to be repeated later. */
export interface StoredResponse {
  outcome: Outcome;
  /** The headers set by the handler. */
  headers: Record<string, number | string | string[]>;
  /** The records in the response that the user could read. */
  records?: readonly ResponseRecord[];
  /** The roles of the user when the response was stored: a user who has lost a role may have lost access to fields. */
  roles: readonly string[];
  /** Whether the user's e-mail address was verified then. */
  verified?: boolean;
}

/** Returns the encryption context of a stored response, from the id of its key's row. */
export function responseEncryptionContext(id: string): string {
  return `idempotency_keys/answer/${id}`;
}

/**
 * Encrypts a response for storage, because it may contain any field of a record.
 *
 * @param headersBefore names of the headers that were set before the handler ran
 * @param records the records in the response that the user could read
 * @returns null for a response that is too large to store
 */
export function encryptResponse(
  keyring: Keyring,
  id: string,
  outcome: Outcome,
  sentBy: { res: Response; user: Viewer | undefined },
  headersBefore: ReadonlySet<string>,
  records: readonly ResponseRecord[],
): string | null {
  const names = sentBy.res.getHeaderNames().filter((name) => !headersBefore.has(name));
  const headers = Object.fromEntries(names.map((name) => [name, sentBy.res.getHeader(name)!]));
  const { user } = sentBy;
  const verified = user !== undefined && isEmailVerified(user);
  const stored: StoredResponse = { outcome, headers, records, roles: user?.roles ?? [], ...(verified && { verified }) };
  const text = JSON.stringify(stored);
  return text.length > MAX_LENGTH ? null : keyring.encrypt(text, responseEncryptionContext(id));
}

/** Decrypts a result of `encryptResponse`. */
export function decryptResponse(keyring: Keyring, id: string, ciphertext: string): StoredResponse {
  return JSON.parse(keyring.decrypt(ciphertext, responseEncryptionContext(id)));
}
