/** ms that a run may take without being limited. */
const FREE_MS = 5;
/** The share of the time that expensive runs may take. */
const MAX_SHARE = 0.002;
const MAX_WAIT_MS = 600_000;

/** Limits how often something runs that is cheap at most times and may become expensive: to 0.2% of the time, but at least every 10 minutes. */
export interface CostLimit {
  /** Whether it may run now. */
  isDue(): boolean;
  /** Remembers that it has run, and how long it took. */
  noteRun(ms: number): void;
}

export function createCostLimit(): CostLimit {
  let dueAt = Number.NEGATIVE_INFINITY;
  return {
    isDue: () => performance.now() >= dueAt,
    noteRun(ms) {
      dueAt = performance.now() + (ms <= FREE_MS ? 0 : Math.min(ms / MAX_SHARE, MAX_WAIT_MS));
    },
  };
}
