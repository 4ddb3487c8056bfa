import type { RunningProcess } from '../../../platform/work/processes/facts.ts';
import type { RequestSummary } from './responses.ts';

/** Returns the bound below which a share of the requests stayed, in ms. */
function percentile(bounds: readonly number[], buckets: readonly number[], share: number): number | null {
  const total = buckets.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let below = 0;
  for (let i = 0; i < bounds.length; i++) {
    below += buckets[i] ?? 0;
    if (below >= total * share) return Math.round(bounds[i]! * 1000);
  }
  return null;
}

/** Adds lists of numbers that end at the same time: the last elements belong together. */
function addFromEnd<T>(lists: readonly (readonly T[])[], numberOf: (item: T) => number): number[] {
  const length = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length }, (_, i) =>
    lists.reduce((sum, list) => {
      const item = list[list.length - length + i];
      return item === undefined ? sum : sum + numberOf(item);
    }, 0),
  );
}

/** Adds up the requests of processes. */
export function summarizeRequests(processes: readonly RunningProcess[]): RequestSummary {
  const facts = processes.flatMap(({ facts: { requests } = {} }) => requests ?? []);
  const points = facts.map((one) => one.points);
  const [counts, failures, seconds] = (['count', 'failed', 'seconds'] as const).map((name) =>
    addFromEnd(points, (point) => point[name]),
  );
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const bounds = facts[0]?.bounds ?? [];
  const buckets = Array.from({ length: bounds.length + 1 }, (_, i) => sum(facts.map((one) => one.buckets[i] ?? 0)));
  const intervalSeconds = facts[0]?.intervalSeconds ?? 10;
  const count = sum(counts!);
  return {
    seconds: counts!.length * intervalSeconds,
    count,
    failed: sum(failures!),
    inFlight: sum(facts.map((one) => one.inFlight)),
    meanMs: count === 0 ? null : Math.round((sum(seconds!) / count) * 1000),
    medianMs: percentile(bounds, buckets, 0.5),
    p95Ms: percentile(bounds, buckets, 0.95),
    intervalSeconds,
    points: counts!.map((each, i) => ({ count: each, failed: failures![i]! })),
  };
}
