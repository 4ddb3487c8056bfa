/** At most `limit` requests in any `windowSeconds` seconds. */
export interface RateRule {
  limit: number;
  windowSeconds: number;
}

/** The requests of the last window, as stored between leases. */
export interface RateState {
  /** How many requests began in each time slice, by slice number. */
  slices?: Record<string, number>;
  /** Length of a slice in ms. Counts of slices with another length cannot be converted. */
  sliceMs?: number;
  /** Requests of lease holders that died. Their start times are unknown. */
  lost?: number;
}

/** Counts the requests to one endpoint. All times passed to it are epoch ms of one clock. */
export interface RateCounter {
  /** Counts one more request and returns true; if the limit is reached, returns false and counts nothing. */
  tryTakeRequest(now: number): boolean;
  /** Returns the ms until the limit allows one more request; 0 if the limit allows it now. */
  waitMs(now: number): number;
  getRateState(now: number): RateState;
}

const SLICES = 10;

/**
 * Continues counting from a state. A request counts until the whole slice in which it began has left the window. The limit is therefore
 * never exceeded, in any window, but a request may be allowed up to a tenth of a window late.
 */
export function createRateCounter({ limit, windowSeconds }: RateRule, before: RateState, now: number): RateCounter {
  const windowMs = windowSeconds * 1000;
  const sliceMs = windowMs / SLICES;
  const sliceOf = (time: number) => Math.floor(time / sliceMs);
  const counts = new Map<number, number>();
  const addToSlice = (slice: number, count: number) => counts.set(slice, (counts.get(slice) ?? 0) + count);
  for (const [slice, count] of Object.entries(before.slices ?? {})) {
    // Requests in slices of another length count as made now, because they may be recent. So do requests in future slices, which exist
    // if the clock was set back.
    addToSlice(before.sliceMs === sliceMs ? Math.min(Number(slice), sliceOf(now)) : sliceOf(now), count);
  }
  // A lease holder that died leaves no start times, so its requests count as made now.
  if (before.lost) addToSlice(sliceOf(now), before.lost);

  /** Returns the epoch ms at which the requests of a slice stop counting. */
  const expiryOf = (slice: number) => (slice + 1) * sliceMs + windowMs;
  function countRequestsInWindow(time: number): number {
    let sum = 0;
    for (const [slice, count] of counts) {
      if (expiryOf(slice) <= time) counts.delete(slice);
      else sum += count;
    }
    return sum;
  }

  return {
    tryTakeRequest(time) {
      if (countRequestsInWindow(time) >= limit) return false;
      addToSlice(sliceOf(time), 1);
      return true;
    },
    waitMs(time) {
      let over = countRequestsInWindow(time) - limit;
      for (const [slice, count] of [...counts].sort(([a], [b]) => a - b)) {
        if (over < 0) break;
        over -= count;
        if (over < 0) return Math.ceil(expiryOf(slice) - time);
      }
      return 0;
    },
    getRateState(time) {
      countRequestsInWindow(time);
      return { slices: Object.fromEntries(counts), sliceMs };
    },
  };
}
