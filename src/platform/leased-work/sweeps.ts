import type { Sweep } from '../outbox/relay.ts';
import type { Executor } from '../postgres/queryable.ts';
import { removeInBatches } from '../postgres/write-in-batches.ts';

const RETENTION_EVERY_MS = 60_000;

/** A sweep that adds jobs for due rows without one: their job was lost, or the lease of their worker has expired. */
export function reclaimSweep<Row>({
  name,
  everyMs,
  find,
  addJobs,
}: {
  name: string;
  everyMs: number;
  find(): Promise<readonly Row[]>;
  /** A row whose job still exists keeps it: adding a job with the id of a live one has no effect. */
  addJobs(rows: readonly Row[]): Promise<unknown>;
}): Sweep {
  return {
    name,
    everyMs,
    async run() {
      const rows = await find();
      if (rows.length > 0) await addJobs(rows);
      return rows.length;
    },
  };
}

/** A statement that removes old rows: at most as many as its last parameter says, returning each of them. */
export interface Removal {
  text: string;
  /** The other parameters of the statement. */
  values?: readonly unknown[];
  rowsPerBatch?: number;
}

/** A sweep that removes old rows in batches, one statement after the other. @param everyMs default: a minute */
export function retentionSweep(
  database: Executor,
  { name, everyMs = RETENTION_EVERY_MS, removals }: { name: string; everyMs?: number; removals: readonly Removal[] },
): Sweep {
  return {
    name,
    everyMs,
    async run() {
      let rows = 0;
      for (const { text, values, rowsPerBatch } of removals)
        rows += await removeInBatches(database, text, values, rowsPerBatch);
      return rows;
    },
  };
}
