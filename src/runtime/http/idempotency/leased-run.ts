import type { Host } from '../../../declare/host.ts';
import type { Route } from '../../../declare/route.ts';
import type { ApiError } from '../../../platform/helpers/errors.ts';
import type { SuccessResponse } from '../../../platform/http/response.ts';
import { toPublicError } from '../public-error.ts';
import type { Attempt } from './attempt.ts';
import type { KeyLease, KeyLeases } from './key-leases.ts';
import { markReplayed } from './replay.ts';
import { encryptResponse, type Outcome } from './stored-response.ts';

// Statuses of requests that were refused for their content or an outdated version. They changed nothing, so the corrected request may
// use the same key.
const KEY_FREEING_STATUSES = new Set([400, 412, 422, 429]);

/**
 * Runs an attempt whose request holds the lease of its key, and stores the response.
 *
 * @param recordId the id that is reserved for the record of a create
 * @param isReclaimed whether an earlier attempt held the lease; it may have created the record
 */
type LeasedRun = (
  attempt: Attempt,
  lease: KeyLease,
  recordId: string,
  isReclaimed: boolean,
) => Promise<SuccessResponse | undefined>;

/** Creates the function that runs the attempts of a route. Every response below 500 is stored, with some exceptions. */
export function createLeasedRun(
  route: Route,
  { keyring, log }: Pick<Host, 'keyring' | 'log'>,
  keys: KeyLeases,
): LeasedRun {
  const shouldStoreError = ({ status, retryAfter }: ApiError) =>
    route.idempotent !== 'create' && status < 500 && !KEY_FREEING_STATUSES.has(status) && retryAfter === undefined;

  /** Awaits the storing of a key's state. If it fails, a repetition loses its response, but this request must not fail. */
  async function warnIfNotStored(work: Promise<void>): Promise<void> {
    await work.catch((error) =>
      log.warn({ err: error }, 'the state of a request with an Idempotency-Key was not stored'),
    );
  }

  /** Ends a lease after an error. A key whose record was created stays bound to its request: another body must not get that record. */
  async function releaseKey(attempt: Attempt, lease: KeyLease, recordId: string, status: number): Promise<void> {
    await keys.releaseLease(lease, status < 500 && !(await attempt.isCreated(recordId)));
  }

  return async (attempt, lease, recordId, isReclaimed) => {
    keys.renewals.add(lease);
    const before = new Set(attempt.res.getHeaderNames());
    const storeOutcome = (status: number, outcome: Outcome) =>
      warnIfNotStored(
        (async () => {
          const records = 'answer' in outcome ? await attempt.records() : [];
          const response = encryptResponse(keyring, lease.id, outcome, attempt, before, records);
          await keys.storeResponse(lease, status, response);
        })(),
      );
    try {
      const recovered = isReclaimed ? await attempt.rebuildCreateResponse(recordId) : undefined;
      if (recovered !== undefined) markReplayed(attempt.res);
      const answer = recovered ?? (await attempt.run(recordId));
      if (answer === undefined) await warnIfNotStored(keys.releaseLease(lease, true));
      else await storeOutcome(answer.status, { answer });
      return answer;
    } catch (error) {
      const apiError = toPublicError(error);
      const { status, code, message, details } = apiError;
      if (shouldStoreError(apiError)) await storeOutcome(status, { error: { code, message, details } });
      else await warnIfNotStored(releaseKey(attempt, lease, recordId, status));
      throw error;
    } finally {
      keys.renewals.remove(lease);
    }
  };
}
