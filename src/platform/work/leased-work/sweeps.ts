import { type ExpiredRows, removeExpiredSql } from '../../data/postgres/expired-rows.ts';
import type { Executor } from '../../data/postgres/queryable.ts';
import { BATCHES_PER_SWEEP, writeInBatches } from '../../data/postgres/write-in-batches.ts';
import type { Sweep } from '../outbox/relay.ts';

const RETENTION_EVERY_MS = 60_000;

/** Creates a sweep that adds jobs for due rows without one: their job was lost, or the lease of their worker has expired. */
export function createReclaimSweep<Row>({
  find,
  addJobs,
  ...sweep
}: {
  name: string;
  everyMs: number;
  /** See `Sweep`. */
  condition?: string;
  /** Returns the due rows, at once or in pages. */
  find(): Promise<readonly Row[]> | AsyncIterable<readonly Row[]>;
  /** Adds a job for each row. A row may have a job already: adding a job with the id of a live job has no effect. */
  addJobs(rows: readonly Row[]): Promise<unknown>;
}): Sweep {
  return {
    ...sweep,
    async run() {
      const found = find();
      let total = 0;
      for await (const rows of Symbol.asyncIterator in found ? found : [found]) {
        if (rows.length > 0) await addJobs(rows);
        total += rows.length;
      }
      return total;
    },
  };
}

/** Old rows to remove: expired rows of a table, or the rows that a statement finds. */
type Removal = (ExpiredRows | RemovalStatement) & {
  rowsPerBatch?: number;
  /** Maximum number of batches in one sweep. Default: 20. Set it to Infinity for tables that grow faster than that. */
  maxBatches?: number;
};

/** A statement that removes old rows. Its last parameter is the maximum number of rows; it returns a row for each removed one. */
interface RemovalStatement {
  text: string;
  /** The parameters of the statement before the last one. */
  values?: readonly unknown[];
}

/** Creates a sweep that removes old rows in batches, one removal after the other. @param everyMs default: a minute */
export function createRetentionSweep(
  database: Executor,
  {
    everyMs = RETENTION_EVERY_MS,
    removals,
    ...sweep
  }: { name: string; everyMs?: number; removals: readonly Removal[]; condition?: string },
): Sweep {
  const statements = removals.map((removal) =>
    'text' in removal ? removal : { ...removal, text: removeExpiredSql(removal), values: [] },
  );
  return {
    ...sweep,
    everyMs,
    async run() {
      let rows = 0;
      for (const { text, values = [], rowsPerBatch, maxBatches = BATCHES_PER_SWEEP } of statements)
        rows += await writeInBatches(database, text, values, { rowsPerBatch, maxBatches });
      return rows;
    },
  };
}
