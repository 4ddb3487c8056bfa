import { createCostLimit } from '../../data/postgres/cost-limit.ts';
import type { Executor } from '../../data/postgres/database.ts';
import { Settled } from '../../data/postgres/settled.ts';
import type { OutboxRow } from './table.ts';

/** Minimum ms between two searches of the whole outbox while searches find rows. */
const SEARCH_ALL_EVERY_MS = 1000;
/** ms that the search of the whole outbox may take for each row that it finds, without counting as expensive. */
const MS_PER_ROW = 0.1;

/** Where the next search of the outbox begins. */
interface SearchStart {
  /**
   * Runs a search. If it finds nothing, and once per second, searches the whole outbox, but rarely while that is expensive.
   *
   * @param search takes the id after which it begins
   * @param read returns the id of a row, and the `SNAPSHOT` of the search
   * @returns the rows, and the id after which they were searched
   */
  find<Row>(
    executor: Executor,
    search: (after: number) => Promise<Row[]>,
    read: (row: Row) => { id: number; snapshot: string },
  ): Promise<{ rows: Row[]; after: number }>;
  /** Remembers the ids of rows that a transaction has deleted. */
  noteProcessed(rows: readonly Pick<OutboxRow, 'id'>[]): void;
}

/**
 * Lets searches begin after rows that were processed before. While another session holds an old snapshot, vacuum cannot remove processed
 * rows, and a search from the start would visit them all. Transactions do not commit in the order of their ids, so the start advances to an id
 * only when all transactions that were open when its row was processed have ended, and the search found no row up to it. Only a search of the
 * whole outbox finds the rows of transactions that stay open for more than a minute, and rows that were deferred.
 */
export function createSearchStart(): SearchStart {
  const limit = createCostLimit('outbox');
  const settled = new Settled();
  let searchedAllAt = Number.NEGATIVE_INFINITY;
  let start = 0;

  async function searchAll<Row>(executor: Executor, search: (after: number) => Promise<Row[]>) {
    searchedAllAt = performance.now();
    const rows = await search(0);
    await limit.noteRun(executor, performance.now() - searchedAllAt - rows.length * MS_PER_ROW);
    return { rows, after: 0 };
  }

  return {
    async find(executor, search, read) {
      const isAllDue = limit.isDue() && performance.now() - searchedAllAt >= SEARCH_ALL_EVERY_MS;
      const { passed } = settled;
      const after = start;
      let found = isAllDue ? await searchAll(executor, search) : { rows: await search(after), after };
      if (found.rows.length === 0 && found.after > 0 && limit.isDue()) found = await searchAll(executor, search);
      const rows = found.rows.map(read);
      if (rows.length > 0) settled.noteSnapshot(passed, rows[0]!.snapshot);
      if (rows.length > 0 && rows.every(({ id }) => id > settled.position)) start = Math.max(start, settled.position);
      return found;
    },
    noteProcessed(rows) {
      for (const { id } of rows) settled.notePassed(id);
    },
  };
}
