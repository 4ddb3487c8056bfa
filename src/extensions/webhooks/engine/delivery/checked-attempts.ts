import { DecryptionError, type Keyring, type Logger, type Tracing } from '../../../../extension/index.ts';
import { decryptStoredBody } from '../../deliveries/stored-body.ts';
import { type Audience, type CheckReadability, NOT_READABLE } from '../readability/readability.ts';
import { createNotReadableOutcome, type Outcome, type Sender, type Target } from './attempt.ts';
import { makeTracedAttempt } from './attempt-span.ts';
import type { ClaimedDelivery } from './claim.ts';

/**
 * Bounds in ms for how long the result of a readability check is used before a delivery is checked again. Within these bounds, a result
 * is used for as long as the check took, so that a busy database does not get checks all the time.
 */
const MIN_FRESH_MS = 10;
const MAX_FRESH_MS = 100;

/** Maximum number of deliveries per readability check, because a check holds their bodies in memory twice. */
const MAX_PER_CHECK = 50;

/** What a worker needs to check deliveries and to make attempts. */
export interface AttemptDependencies {
  check: CheckReadability;
  keyring: Keyring;
  sender: Sender;
  log: Logger;
  tracing: Tracing;
}

/** Makes attempts at one endpoint, after checking what its owner may read. */
export interface CheckedAttempts {
  /** Sets the owner as the latest claim read them. */
  setReadOwner(owner: Audience['readOwner']): void;
  /**
   * Makes an attempt if the endpoint's owner may read the body now; otherwise returns a refused outcome. Rejects if the database is
   * unavailable.
   *
   * @param getTarget called after the check; returns undefined if the attempt must no longer begin
   * @param waiting the claimed deliveries that come next; they are checked together with this one
   * @returns undefined if no attempt was made and the delivery stays unchanged, because the endpoint must not be sent to at all
   */
  attemptIfReadable(
    getTarget: () => Target | Error | undefined,
    delivery: ClaimedDelivery,
    waiting: readonly ClaimedDelivery[],
  ): Promise<Outcome | undefined>;
}

/** A check of several deliveries. */
interface Check {
  /** When the verdicts become too old, by `performance.now()`; infinite while the check runs. */
  until: number;
  verdicts: ReturnType<CheckReadability>;
}

/** The check of a delivery, and the place of its verdict. */
interface Checked {
  check: Check;
  place: number;
}

/** A delivery with its body, or with the error if the body cannot be decrypted. In that case there is nothing to check. */
type OpenedDelivery =
  | { delivery: ClaimedDelivery; body: string }
  | { delivery: ClaimedDelivery; error: DecryptionError };

/** Creates the functions that make attempts at one endpoint. Deliveries are checked in groups to save queries. */
export function createCheckedAttempts(
  { check: checkReadability, keyring, sender, log, tracing }: AttemptDependencies,
  audience: Audience & { id: string },
): CheckedAttempts {
  let { readOwner } = audience;
  const attemptParts = { tracing, sender, endpointId: audience.id };
  const checks = new Map<string, Checked>();
  /** How many waiting deliveries the next check includes: twice as many as have begun since the last check. */
  let lookaheadCount = MAX_PER_CHECK - 1;
  let startedSinceCheck = 0;

  function hasFreshCheck({ id }: ClaimedDelivery): boolean {
    const checked = checks.get(id);
    return checked !== undefined && performance.now() <= checked.check.until;
  }

  function decryptBody(delivery: ClaimedDelivery): OpenedDelivery {
    try {
      return { delivery, body: decryptStoredBody(keyring, delivery.id, delivery) };
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      log.error(
        { err: error, endpoint: audience.id, delivery: delivery.id },
        'the body of a webhook cannot be decrypted',
      );
      return { delivery, error };
    }
  }

  function startReadabilityCheck(opened: readonly OpenedDelivery[]): void {
    const began = performance.now();
    const readable = opened.filter((one) => 'body' in one);
    const verdicts = checkReadability(
      { ...audience, ...(readOwner && { readOwner }) },
      readable.map(({ delivery, body }) => ({ type: delivery.type, body })),
    );
    const check: Check = { until: Number.POSITIVE_INFINITY, verdicts };
    for (const [place, { delivery }] of readable.entries()) checks.set(delivery.id, { check, place });
    verdicts.then(
      () => {
        const now = performance.now();
        check.until = now + Math.min(Math.max(now - began, MIN_FRESH_MS), MAX_FRESH_MS);
      },
      // Handle a rejection here: attempts that never begin do not await the verdicts.
      () => {
        check.until = Number.NEGATIVE_INFINITY;
      },
    );
  }

  return {
    setReadOwner(latest) {
      readOwner = latest;
    },

    async attemptIfReadable(getTarget, delivery, waiting) {
      const opened = decryptBody(delivery);
      if ('error' in opened) return makeTracedAttempt(attemptParts, opened.error, delivery, '');
      if (!hasFreshCheck(delivery)) {
        const next = waiting.filter((one) => !hasFreshCheck(one)).slice(0, lookaheadCount);
        startReadabilityCheck([opened, ...next.map(decryptBody)]);
        startedSinceCheck = 0;
      }
      startedSinceCheck += 1;
      lookaheadCount = Math.min(2 * startedSinceCheck, MAX_PER_CHECK - 1);
      const { check, place } = checks.get(delivery.id)!;
      const verdicts = await check.verdicts;
      checks.delete(delivery.id);
      const readable = verdicts?.[place];
      if (readable === undefined) return undefined;
      if (!readable) return createNotReadableOutcome(NOT_READABLE);
      const target = getTarget();
      return target && (await makeTracedAttempt(attemptParts, target, delivery, opened.body));
    },
  };
}
