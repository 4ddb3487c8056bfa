import type { Response } from 'express';
import type { Viewer } from '../../../declare/policy.ts';
import type { Keyring } from '../../../platform/crypto/keyring.ts';
import type { ApiError } from '../../../platform/errors.ts';
import type { Answer } from '../../../platform/http/answer.ts';

/** Characters of JSON. */
const MOST = 2 ** 20;

/** What came of a request. */
export type Outcome = { answer: Answer } | { error: Pick<ApiError, 'code' | 'message' | 'details'> };

/** What is stored of an answer. */
export interface StoredAnswer {
  outcome: Outcome;
  /** Those that the handler set. */
  headers: Record<string, number | string | string[]>;
  /** Of the user it was made for, who may have lost one and see less by now. */
  roles: readonly string[];
}

/** What the ciphertext of a row's answer is bound to. */
export function answerContext(id: string): string {
  return `idempotency_keys/answer/${id}`;
}

/**
 * An answer as it is stored: encrypted, since it holds whatever records hold.
 *
 * @param before names of the headers that were there before the handler ran
 * @returns null for one that is too large to be kept
 */
export function sealAnswer(
  keyring: Keyring,
  id: string,
  outcome: Outcome,
  of: { res: Response; user: Viewer | undefined },
  before: ReadonlySet<string>,
): string | null {
  const names = of.res.getHeaderNames().filter((name) => !before.has(name));
  const headers = Object.fromEntries(names.map((name) => [name, of.res.getHeader(name)!]));
  const kept: StoredAnswer = { outcome, headers, roles: of.user?.roles ?? [] };
  const text = JSON.stringify(kept);
  return text.length > MOST ? null : keyring.encrypt(text, answerContext(id));
}

/** What `sealAnswer` put away. */
export function openAnswer(keyring: Keyring, id: string, sealed: string): StoredAnswer {
  return JSON.parse(keyring.decrypt(sealed, answerContext(id)));
}
