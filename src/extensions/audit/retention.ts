import type { Host } from '../../declare/host.ts';
import type { Sweep } from '../../platform/outbox/relay.ts';
import { lockChain } from './chain.ts';
import { ANCHOR_AT, OLDEST, REMOVE_ANCHORS, REMOVE_ENTRIES } from './sql.ts';

const EVERY_MS = 10 * 60_000;
const ROWS_AT_ONCE = 2000;
// A relay that is asked to stop waits for the run in work.
const BATCHES_A_RUN = 500;

type OldRow = [id: number, hash: string, isOld: boolean];

/**
 * Removes rows that are older than so many days, from the old end up to the first that is not, and leaves the hash of the last one
 * as the anchor of those that stay.
 */
export function createRetention({ database }: Pick<Host, 'database'>, keepDays: number): Sweep {
  /** Gives whether there may be more. */
  const removeSome = () =>
    database.transaction(async (tx) => {
      const look = () => tx.write<OldRow>({ text: OLDEST, values: [keepDays, ROWS_AT_ONCE] });
      // Most looks find nothing: those hold up nobody.
      if ((await look())[0]?.[2] !== true) return false;
      await lockChain(tx);
      const rows = await look();
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
