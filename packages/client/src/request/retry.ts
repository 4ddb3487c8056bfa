import type { Deadline } from './deadline.ts';
import type { ApiError } from './errors.ts';

/** ms before the second attempt; the time doubles with every further one. */
const FIRST_DELAY_MS = 300;
const MAX_DELAY_MS = 10_000;
/** The longest `Retry-After` that a call waits for. */
const MAX_RETRY_AFTER_MS = 60_000;

/**
 * Whether a request that may be repeated is worth repeating after an error.
 *
 * @param attempts how often it has been sent
 */
export function shouldRetry({ status, code, retryAfterMs }: ApiError, attempts: number): boolean {
  if (code === 'NETWORK_ERROR' || status === 429 || status === 503) return true;
  // The server still processes an earlier attempt with the same Idempotency-Key.
  return status === 409 && retryAfterMs !== undefined && attempts > 1;
}

/**
 * Waits until the next attempt: a random part of the back-off, or as long as `Retry-After` says.
 *
 * @throws the error at once if the next attempt would be too late; the reason for which the call ends while it waits
 */
export async function waitBeforeRetry(error: ApiError, attempts: number, deadline: Deadline): Promise<void> {
  const backOffMs = Math.min(FIRST_DELAY_MS * 2 ** (attempts - 1), MAX_DELAY_MS) * (0.5 + Math.random() / 2);
  const { retryAfterMs } = error;
  // Clients that were refused together should not return together.
  const ms = retryAfterMs === undefined ? backOffMs : retryAfterMs + backOffMs / 2;
  if (ms >= deadline.remainingMs() || (retryAfterMs ?? 0) > MAX_RETRY_AFTER_MS) throw error;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const pause = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await deadline.race(pause);
  } finally {
    clearTimeout(timer);
  }
}
