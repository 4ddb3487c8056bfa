/** The error with which `withDeadline` rejects when the work takes too long. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

const MAX_STEPS = 10;
const MIN_STEP_MS = 30;

/**
 * Calls `onTimeout` after `ms`. The countdown runs in steps and polls the sockets once more at the end, so that time in which this
 * process was too busy to read a result is not counted against the sender of that result.
 *
 * @returns a function that stops the countdown
 */
function startCountdown(ms: number, onTimeout: () => void): () => void {
  const steps = Math.max(1, Math.min(MAX_STEPS, Math.floor(ms / MIN_STEP_MS)));
  let left = steps;
  let last: NodeJS.Immediate | undefined;
  const timer = setInterval(() => {
    left -= 1;
    if (left > 0) return;
    clearInterval(timer);
    last = setImmediate(onTimeout);
  }, Math.max(ms, 0) / steps);
  return () => {
    clearInterval(timer);
    clearImmediate(last);
  };
}

/**
 * Settles as `work` does, or resolves with `fallback` after `ms`. Only the waiting ends: the work continues, and its later result or
 * failure is ignored.
 */
export async function withTimeoutFallback<T, F>(work: Promise<T>, ms: number, fallback: F): Promise<T | F> {
  const { promise: onTimeout, resolve } = Promise.withResolvers<F>();
  const stop = startCountdown(ms, () => resolve(fallback));
  try {
    return await Promise.race([work, onTimeout]);
  } finally {
    stop();
  }
}

const TIMED_OUT = Symbol('late');

/** Like `withTimeoutFallback`, but rejects with a `DeadlineError` after `ms`. */
export async function withDeadline<T>(
  work: Promise<T>,
  ms: number,
  message = `no response within ${ms / 1000} s`,
): Promise<T> {
  const result = await withTimeoutFallback(work, ms, TIMED_OUT);
  if (result === TIMED_OUT) throw new DeadlineError(message);
  return result as T;
}
