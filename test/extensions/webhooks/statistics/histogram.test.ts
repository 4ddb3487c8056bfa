import { expect, test } from 'vitest';
import {
  addHistograms,
  countByBucket,
  getBucket,
  getPercentile,
} from '../../../../src/extensions/webhooks/statistics/histogram.ts';

/** The duration that at least this share of the durations do not exceed. */
function exactPercentile(durations: readonly number[], share: number): number {
  const sorted = durations.toSorted((a, b) => a - b);
  return sorted[Math.max(1, Math.ceil(share * sorted.length - 1e-9)) - 1]!;
}

/** Returns numbers from 0 to 1 that look random and are always the same. */
function createNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

function expectNear(found: number | null, exact: number): void {
  expect(found).not.toBeNull();
  expect(Math.abs(found! - exact), `${found} for ${exact}`).toBeLessThanOrEqual(Math.max(1, exact * 0.1));
}

test('the percentiles of a single duration are at most 10% or 1 ms off, for every duration up to the longest time-out', () => {
  for (let ms = 0; ms <= 120_000; ms += ms < 2000 ? 1 : 97) {
    for (const share of [0.5, 0.95, 1]) expectNear(getPercentile(countByBucket([ms]), share), ms);
  }
});

test.each(
  Array.from(
    { length: 60 },
    (_, seed) => [seed, [3, 20, 100, 1000][seed % 4]!, ['even', 'skewed', 'few slow'][seed % 3]!] as const,
  ),
)('percentiles are at most 10%% or 1 ms off: seed %i, %i durations, %s', (seed, count, kind) => {
  const next = createNumbers(seed + 1);
  const durations = Array.from({ length: count }, () => {
    if (kind === 'even') return Math.round(next() * 10_000);
    if (kind === 'skewed') return Math.round(Math.exp(next() * Math.log(120_000)));
    return Math.round(next() < 0.1 ? 5000 + next() * 5000 : 10 + next() * 40);
  });
  const counts = countByBucket(durations);
  for (const share of [0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 1])
    expectNear(getPercentile(counts, share), exactPercentile(durations, share));
});

test('a longer duration is never in a lower bucket, and all durations above 117 s are in the last one', () => {
  let last = 0;
  for (let ms = 0; ms < 200_000; ms += 7) {
    const bucket = getBucket(ms);
    expect(bucket).toBeGreaterThanOrEqual(last);
    last = bucket;
  }
  expect([getBucket(0), getBucket(1), getBucket(2)]).toEqual([0, 0, 4]);
  expect([getBucket(120_000), getBucket(Number.MAX_SAFE_INTEGER)]).toEqual([65, 65]);
});

test('the end of a bucket belongs to the bucket', () => {
  for (let bucket = 1; bucket <= 65; bucket++) expect(getBucket(1.2 ** bucket)).toBe(bucket);
});

test('without durations there are no percentiles', () => {
  expect(getPercentile([], 0.5)).toBeNull();
  expect(getPercentile([0, 0], 0.5)).toBeNull();
});

test('the sum of histograms counts as if all durations had been counted together', () => {
  const [a, b] = [
    [1, 5, 900],
    [3, 3, 40_000],
  ];
  expect(addHistograms([countByBucket(a), countByBucket(b), []])).toEqual(countByBucket([...a, ...b]));
  expect(addHistograms([])).toEqual([]);
});
