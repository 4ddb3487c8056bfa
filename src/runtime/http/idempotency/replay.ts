import type { Response } from 'express';
import { isEmailVerified } from '../../../declare/actor.ts';
import type { Viewer } from '../../../declare/policy.ts';
import type { Keyring } from '../../../platform/data/crypto/keyring.ts';
import { ApiError } from '../../../platform/helpers/errors.ts';
import type { SuccessResponse } from '../../../platform/http/response.ts';
import type { Attempt } from './attempt.ts';
import type { KeyLease, StoredKey } from './key-leases.ts';
import { decryptResponse, type StoredResponse } from './stored-response.ts';

/** The `Retry-After` of the 409 for a request whose first attempt is still in progress, in seconds. */
const RETRY_AFTER_SECONDS = 5;

/** Marks a response as one of an earlier request. */
export function markReplayed(res: Response): void {
  res.setHeader('Idempotency-Replayed', 'true');
}

/** Refuses a user who has lost a right that may have determined the content of the stored response. */
function assertStillHasRights({ roles, verified }: StoredResponse, user: Viewer | undefined): void {
  const lostRole = roles.find((role) => user?.roles?.includes(role) !== true);
  if (lostRole !== undefined) {
    throw new ApiError('FORBIDDEN', `The stored response requires the role "${lostRole}", which you no longer have`);
  }
  if (verified === true && (user === undefined || !isEmailVerified(user)))
    throw new ApiError('FORBIDDEN', 'The stored response requires a verified e-mail address, which you no longer have');
}

/**
 * Returns the stored response of an earlier request, and sets its headers.
 *
 * @throws ApiError the stored error; CONFLICT, FORBIDDEN or NOT_FOUND if the response cannot be sent to this caller
 */
export async function replayStoredResponse(
  keyring: Keyring,
  { id }: KeyLease,
  { response }: StoredKey,
  { res, user, mayReadAgain }: Attempt,
): Promise<SuccessResponse> {
  if (response === null) {
    throw new ApiError('CONFLICT', 'This request was already processed, but its response was too large to be stored');
  }
  const stored = decryptResponse(keyring, id, response);
  assertStillHasRights(stored, user);
  const { outcome, records = [], headers } = stored;
  // The user may have left an organisation, or lost the right to read the record in another way. Then a read also responds with 404.
  if ('answer' in outcome && records.length > 0) {
    const { text } = outcome.answer;
    const { data } = text === undefined ? {} : JSON.parse(text);
    if (!(await mayReadAgain(records, data))) throw new ApiError('NOT_FOUND');
  }
  markReplayed(res);
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  if ('answer' in outcome) return outcome.answer;
  const { code, message, details } = outcome.error;
  throw new ApiError(code, message, details === undefined ? {} : { details });
}

/** Rebuilds the response to a create after a long wait: the process that ran it may have died before storing a response. */
export async function rebuildResponseOrThrowConflict(
  attempt: Attempt,
  { recordId }: StoredKey,
): Promise<SuccessResponse> {
  const recovered = await attempt.rebuildCreateResponse(recordId);
  if (recovered === undefined) {
    throw new ApiError('CONFLICT', 'The first request with this Idempotency-Key is still in progress', {
      retryAfter: RETRY_AFTER_SECONDS,
    });
  }
  markReplayed(attempt.res);
  return recovered;
}
