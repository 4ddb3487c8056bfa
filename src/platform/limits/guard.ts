import type { Logger } from '../log.ts';
import type { Metrics } from '../metrics.ts';

/** Stands before Redis, so that no request waits for one that is away. */
export interface Guard {
  /**
   * Asks Redis.
   *
   * @throws when Redis fails or does not answer in time, and from then on at once, until an attempt is answered in time again
   */
  ask<T>(question: () => Promise<T>): Promise<T>;
}

const DEADLINE_MS = 500;
const RETRY_MS = 1000;

/** Thrown without asking: made once, as a flood must not pay for stack traces. */
const AWAY = new Error('Redis is away');

/** A promise's outcome, or the rejection `late` after a deadline. */
function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // When it was this process that was busy, the answer may lie in the socket: one more look at it.
      setImmediate(() => reject(new Error(`Redis did not answer within ${ms} ms`)));
    }, ms);
    const settle = <V>(how: (value: V) => void) => {
      return (value: V) => {
        clearTimeout(timer);
        how(value);
      };
    };
    promise.then(settle(resolve), settle(reject));
  });
}

/**
 * Makes a guard. It logs when Redis goes away and when it is back, nothing in between.
 *
 * @param what what is counted, for the log and the metrics
 */
export function createGuard(log: Logger, { redisFallbacks }: Metrics, what: string): Guard {
  let away = false;
  let retryAt = 0;
  let trying = false;

  function leave(error: unknown): void {
    retryAt = performance.now() + RETRY_MS;
    if (away) return;
    away = true;
    log.warn({ err: error }, `${what} are counted in this process alone: Redis is away`);
  }

  /** Nobody waits for an attempt. One that hangs is the only one until its connection answers or breaks. */
  async function attempt(question: () => Promise<unknown>): Promise<void> {
    trying = true;
    const begun = performance.now();
    try {
      await question();
      if (performance.now() - begun > DEADLINE_MS) throw new Error('Redis is slow');
      away = false;
      log.info(`${what} are counted in Redis again`);
    } catch (error) {
      leave(error);
    } finally {
      trying = false;
    }
  }

  return {
    async ask(question) {
      if (away) {
        if (!trying && performance.now() >= retryAt) void attempt(question);
        redisFallbacks.inc({ what });
        throw AWAY;
      }
      try {
        return await within(question(), DEADLINE_MS);
      } catch (error) {
        leave(error);
        redisFallbacks.inc({ what });
        throw error;
      }
    },
  };
}
