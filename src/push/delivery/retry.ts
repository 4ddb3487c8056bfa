import { scheduledWait, withJitter, withLaterJitter } from '../../platform/leased-work/retry-schedule.ts';

/** ms before each further try, when the provider asks for nothing else. */
const RETRY_SCHEDULE_MS = [1000, 5000, 30_000, 120_000, 600_000];
/** FCM and Web Push keep nothing longer: https://firebase.google.com/docs/cloud-messaging/concept-options#ttl */
const LONGEST_TTL_MS = 28 * 86_400_000;

/** A try that failed and may work later. */
export interface FailedTry {
  /** How often it was tried, 1 or more. */
  attempts: number;
  /** What the provider asks for. */
  retryAfterMs: number | undefined;
  /** Epoch ms: when the push was made. */
  createdAt: number;
  /** Epoch ms: when its `ttl` runs out. */
  expiresAt: number | undefined;
}

/**
 * When a device is tried again: in epoch ms, or undefined when it is not, since it was often enough, or the message would be too
 * old by then.
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
