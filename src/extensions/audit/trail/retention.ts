import type { Host } from '../../../declare/host.ts';
import type { Sweep } from '../../../platform/outbox/relay.ts';
import { ANCHOR_AT, OLDEST, REMOVE_ANCHORS, REMOVE_ENTRIES } from '../sql.ts';
import { lockChain } from './chain.ts';

const EVERY_MS = 10 * 60_000;
const ROWS_AT_ONCE = 2000;
// Bounds the time that a stopping relay waits for the current run.
const BATCHES_A_RUN = 500;

type OldRow = [id: number, hash: string, isOld: boolean];

/**
 * Creates the sweep that removes rows older than `keepDays`, from the old end up to the first newer row. The hash of the last removed
 * row becomes the anchor of the remaining chain.
 */
export function createRetention({ database }: Pick<Host, 'database'>, keepDays: number): Sweep {
  /** Returns whether more rows may have to be removed. */
  const removeSome = () =>
    database.transaction(async (tx) => {
      const readOldest = () => tx.write<OldRow>({ text: OLDEST, values: [keepDays, ROWS_AT_ONCE] });
      // Usually nothing is old: check that first without the lock.
      if ((await readOldest())[0]?.[2] !== true) return false;
      await lockChain(tx);
      const rows = await readOldest();
      const young = rows.findIndex(([, , isOld]) => !isOld);
      const last = rows.at(young === -1 ? -1 : young - 1);
      if (last === undefined || young === 0) return false;
      const [id, hash] = last;
      await tx.write({ text: ANCHOR_AT, values: [id, hash] });
      await tx.write({ text: REMOVE_ENTRIES, values: [id] });
      await tx.write({ text: REMOVE_ANCHORS, values: [id] });
      return young === -1 && rows.length === ROWS_AT_ONCE;
    });

  return {
    name: 'audit rows past their days',
    everyMs: EVERY_MS,
    async run() {
      for (let batch = 0; batch < BATCHES_A_RUN && (await removeSome()); batch++);
    },
  };
}
