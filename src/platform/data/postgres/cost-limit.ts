import type { Executor } from './queryable.ts';

/** ms that a search may take without being limited. */
const FREE_MS = 5;
/** The number of dead rows in a table from which they count as the cause if a search takes long, instead of a busy server. */
const MIN_DEAD_ROWS = 10_000;
/** The share of the time that expensive searches may take. */
const MAX_SHARE = 0.002;
const MAX_WAIT_MS = 600_000;

const COUNT_DEAD_ROWS = `
  select coalesce(sum(n_dead_tup), 0)::float8 from pg_stat_user_tables
  where schemaname = current_schema() and ($1::text is null or relname = $1)`;

/**
 * Limits how often a whole table is searched for something rare. While another session holds an old snapshot, vacuum cannot remove dead rows,
 * and such a search visits all of them. It may take 0.2% of the time then, but runs at least every 10 minutes.
 */
interface CostLimit {
  /** Whether the search may run now. */
  isDue(): boolean;
  /** Remembers that the search has run, and how long it took. */
  noteRun(on: Executor, ms: number): Promise<void>;
}

/** @param table the table that is searched; undefined: any */
export function createCostLimit(table?: string): CostLimit {
  let dueAt = Number.NEGATIVE_INFINITY;

  async function hasManyDeadRows(on: Executor): Promise<boolean> {
    const [row] = await on.write<[number]>({ text: COUNT_DEAD_ROWS, values: [table ?? null] });
    return row![0] >= MIN_DEAD_ROWS;
  }

  return {
    isDue: () => performance.now() >= dueAt,
    async noteRun(on, ms) {
      if (ms <= FREE_MS || !(await hasManyDeadRows(on))) return;
      dueAt = performance.now() + Math.min(ms / MAX_SHARE, MAX_WAIT_MS);
    },
  };
}
