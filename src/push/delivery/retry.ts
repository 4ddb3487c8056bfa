import { scheduledWait, withJitter, withLaterJitter } from '../../platform/leased-work/retry-schedule.ts';

/** ms before each further try, if the provider does not ask for another wait. */
const RETRY_SCHEDULE_MS = [1000, 5000, 30_000, 120_000, 600_000];
/** FCM and Web Push keep no message longer: https://firebase.google.com/docs/cloud-messaging/concept-options#ttl */
const LONGEST_TTL_MS = 28 * 86_400_000;

/** A failed try that may be repeated. */
export interface FailedTry {
  /** The number of tries so far, at least 1. */
  attempts: number;
  /** The wait that the provider asks for. */
  retryAfterMs: number | undefined;
  /** Epoch ms of the creation of the push. */
  createdAt: number;
  /** Epoch ms at which its `ttl` expires. */
  expiresAt: number | undefined;
}

/**
 * Returns when to retry a device, in epoch ms. Returns undefined if there is no further try: the schedule is used up, or the message
 * would have expired by then.
 *
 * @param random from 0 to 1
 */
export function retryAt(
  { attempts, retryAfterMs, createdAt, expiresAt = createdAt + LONGEST_TTL_MS }: FailedTry,
  now: number,
  random: number,
): number | undefined {
  const wait = scheduledWait(RETRY_SCHEDULE_MS, attempts);
  if (wait === undefined) return undefined;
  const at = now + (retryAfterMs === undefined ? withJitter(wait, random) : withLaterJitter(retryAfterMs, random));
  return at < expiresAt ? at : undefined;
}
