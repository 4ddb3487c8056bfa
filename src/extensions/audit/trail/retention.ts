import type { Host, Sweep } from '../../../extension/index.ts';
import { lockChain } from './chain.ts';
import { INSERT_ANCHOR, REMOVE_ANCHORS, REMOVE_ENTRIES, SELECT_OLDEST_ENTRIES } from './sql.ts';

const EVERY_MS = 10 * 60_000;
const ROWS_PER_BATCH = 2000;
/** Limits how long a sweep runs, because a relay that stops waits for the sweep in progress. */
const BATCHES_PER_SWEEP = 500;

type OldestRow = [id: number, hash: string, isOld: boolean];

/**
 * Creates the sweep that removes rows older than `keepDays`, from the old end up to the first newer row. The hash of the last removed
 * row becomes the anchor of the remaining chain. `createRetentionSweep` does not fit, because a batch is several statements under the
 * lock of the chain.
 */
export function createTrailRetentionSweep({ database }: Pick<Host, 'database'>, keepDays: number): Sweep {
  /** Returns the number of removed rows. */
  const removeOldBatch = () =>
    database.transaction(async (tx) => {
      const readOldest = () => tx.write<OldestRow>({ text: SELECT_OLDEST_ENTRIES, values: [keepDays, ROWS_PER_BATCH] });
      // Usually nothing is old: check that first without the lock.
      if ((await readOldest())[0]?.[2] !== true) return 0;
      await lockChain(tx);
      const rows = await readOldest();
      const firstNewer = rows.findIndex(([, , isOld]) => !isOld);
      const count = firstNewer === -1 ? rows.length : firstNewer;
      if (count === 0) return 0;
      const [id, hash] = rows[count - 1]!;
      await tx.write({ text: INSERT_ANCHOR, values: [id, hash] });
      await tx.write({ text: REMOVE_ENTRIES, values: [id] });
      await tx.write({ text: REMOVE_ANCHORS, values: [id] });
      return count;
    });

  return {
    name: 'audit retention',
    everyMs: EVERY_MS,
    async run() {
      let total = 0;
      for (let batch = 0; batch < BATCHES_PER_SWEEP; batch++) {
        const count = await removeOldBatch();
        total += count;
        if (count < ROWS_PER_BATCH) break;
      }
      return total;
    },
  };
}
