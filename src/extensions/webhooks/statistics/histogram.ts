/** Each bucket ends at this multiple of the end of the previous one. */
const RATIO = 1.2;
const LOG_RATIO = Math.log(RATIO);

/** The bucket of all longer durations. It begins at 117 s; an attempt takes at most 120 s. */
const LAST_BUCKET = 65;

/** Tolerance for the logarithm of a duration that is exactly the end of a bucket. */
const EPSILON = 1e-9;

/** Returns the bucket of a duration. Bucket 0 holds up to 1 ms, and bucket n the durations from above 1.2^(n-1) ms to 1.2^n ms. */
export function getBucket(durationMs: number): number {
  return durationMs <= 1 ? 0 : Math.min(LAST_BUCKET, Math.ceil(Math.log(durationMs) / LOG_RATIO - EPSILON));
}

/** Counts durations by bucket. The list ends with the highest bucket that is not empty. */
export function countByBucket(durationsMs: readonly number[]): number[] {
  const counts: number[] = [];
  for (const durationMs of durationsMs) {
    const bucket = getBucket(durationMs);
    while (counts.length <= bucket) counts.push(0);
    counts[bucket]! += 1;
  }
  return counts;
}

/** Returns the sum of histograms. */
export function addHistograms(histograms: Iterable<readonly number[]>): number[] {
  const sum: number[] = [];
  for (const counts of histograms) {
    for (const [bucket, count] of counts.entries()) sum[bucket] = (sum[bucket] ?? 0) + count;
  }
  return sum;
}

/**
 * Returns a percentile: the duration that at least this share of the durations do not exceed.
 *
 * @param counts durations by bucket
 * @param share above 0, at most 1: `0.95` for the 95th percentile
 * @returns ms, rounded, at most 10% or 1 ms from the exact value; null if there are no durations
 */
export function getPercentile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let seen = 0;
  const bucket = counts.findIndex((count) => {
    seen += count;
    return count > 0 && seen >= share * total - EPSILON;
  });
  // The geometric mean of the bounds has the same relative distance to both.
  return bucket === 0 ? 1 : Math.round(RATIO ** (bucket - 0.5));
}
