/** What is remembered of an endpoint whose last response was good. */
export interface EndpointPace {
  /** How many concurrent requests the endpoint may have. */
  limit: number;
  /** ms of the quickest response of the last lease: how quickly the receiver responds when it is not overloaded. */
  quickestMs: number;
}

/** Adapts the number of concurrent requests to an endpoint to the times in which its receiver responds. */
export interface PaceKeeper {
  /** How many requests may be in flight now. */
  limit(): number;
  /**
   * Takes a response into account.
   *
   * @param isGood whether it was successful and not slow
   * @param isLimited whether as many requests were in flight as allowed: otherwise the response does not show that more would be well
   */
  adjust(durationMs: number, isGood: boolean, isLimited: boolean): void;
  /** Returns what to remember for the next lease. */
  getPace(): EndpointPace;
}

/** Below this delay a receiver does not count as loaded, in ms: the times also contain delays of this process and of the network. */
const UNNOTICED_DELAY_MS = 50;
/** Delays above this many ms can make the limit shrink. */
const LONG_DELAY_MS = 200;

/**
 * Starts with one request at a time, or with the pace of the last lease. Each quick response allows one more request, so that the limit
 * can double with each round of requests. A response that takes half as long again as the quickest allows none, because the receiver
 * then queues requests, and one that takes four times as long makes the limit shrink by one, in each round of requests by half at most.
 * A bad response resets it to one.
 *
 * The quickest response is measured anew under each lease. A lease begins when no request is in flight, so its first responses show
 * how quickly the receiver responds without load.
 */
export function createPaceKeeper(before: EndpointPace | undefined, max: number): PaceKeeper {
  let limit = Math.min(before?.limit ?? 1, max);
  let quickestMs = Number.POSITIVE_INFINITY;
  let responsesInRound = 0;
  let lowestInRound = 0;
  return {
    limit: () => limit,
    adjust(durationMs, isGood, isLimited) {
      if (!isGood) {
        limit = 1;
        return;
      }
      if (responsesInRound === 0) {
        responsesInRound = limit;
        lowestInRound = Math.max(1, Math.floor(limit / 2));
      }
      responsesInRound -= 1;
      quickestMs = Math.min(quickestMs, durationMs);
      const unloadedMs = Math.min(quickestMs, before?.quickestMs ?? quickestMs);
      const delayMs = durationMs - unloadedMs;
      if (delayMs <= Math.max(unloadedMs / 2, UNNOTICED_DELAY_MS)) {
        if (isLimited) limit = Math.min(limit + 1, max);
      } else if (delayMs > Math.max(3 * unloadedMs, LONG_DELAY_MS)) {
        limit = Math.max(lowestInRound, limit - 1);
      }
    },
    getPace: () => ({ limit, quickestMs: Number.isFinite(quickestMs) ? quickestMs : (before?.quickestMs ?? 0) }),
  };
}
