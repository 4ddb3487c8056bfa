import type { RequestFacts } from '../../platform/work/processes/facts.ts';

/** The requests of a process since its start. */
export interface RequestTotals {
  count: number;
  /** Those with a status of 500 or more. */
  failed: number;
  /** The sum of their durations. */
  seconds: number;
  /** Their number by duration. */
  buckets: readonly number[];
}

/** The number of intervals that are kept: five minutes, since processes report every 10 s. */
const MAX_POINTS = 30;
const INTERVAL_SECONDS = 10;

/**
 * Creates the function that returns the requests of the last five minutes. Call it every 10 s: each call ends an interval. Nothing is
 * counted twice, because it only compares the totals with earlier ones.
 */
export function createRequestWindow(
  readTotals: () => RequestTotals,
): () => Pick<RequestFacts, 'intervalSeconds' | 'points' | 'buckets'> {
  const snapshots: RequestTotals[] = [readTotals()];
  return () => {
    const now = readTotals();
    snapshots.push(now);
    if (snapshots.length > MAX_POINTS + 1) snapshots.shift();
    const oldest = snapshots[0]!;
    const points = snapshots.slice(1).map((totals, i) => {
      const before = snapshots[i]!;
      const seconds = Number((totals.seconds - before.seconds).toFixed(3));
      return { count: totals.count - before.count, failed: totals.failed - before.failed, seconds };
    });
    const buckets = now.buckets.map((count, i) => count - oldest.buckets[i]!);
    return { intervalSeconds: INTERVAL_SECONDS, points, buckets };
  };
}
