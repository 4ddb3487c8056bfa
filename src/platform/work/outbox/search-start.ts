import { createCostLimit } from '../../data/postgres/cost-limit.ts';
import type { Executor } from '../../data/postgres/database.ts';
import type { OutboxRow } from './table.ts';

/** Minimum ms between two searches of the whole outbox while searches find rows. */
const SEARCH_ALL_EVERY_MS = 1000;
/** ms that the search of the whole outbox may take for each row that it finds, without counting as expensive. */
const MS_PER_ROW = 0.1;

/** The start advances in steps of at least this many ids and ms. */
const STEP_IDS = 50;
const STEP_MS = 100;
/** ms after which the start advances although transactions that were open then still are. */
const MAX_OPEN_MS = 60_000;

/** $1 a transaction id. Returns whether all earlier transactions have ended, and the id that the next transaction gets. */
const READ_TRANSACTIONS = `select pg_snapshot_xmin(s) >= $1::xid8, pg_snapshot_xmax(s) from pg_current_snapshot() s`;

/** Where the next search of the outbox begins. */
interface SearchStart {
  /**
   * Runs a search. If it finds nothing, and once per second, searches the whole outbox, but rarely while that is expensive.
   *
   * @param search takes the id after which it begins
   * @param idOf returns the id of a row
   * @returns the rows, and the id after which they were searched
   */
  find<Row>(
    executor: Executor,
    search: (after: number) => Promise<Row[]>,
    idOf: (row: Row) => number,
  ): Promise<{ rows: Row[]; after: number }>;
  /** Remembers the ids of processed rows. */
  noteProcessed(rows: readonly Pick<OutboxRow, 'id'>[]): void;
}

/**
 * Lets searches begin after rows that were processed before. While another session holds an old snapshot, vacuum cannot remove processed
 * rows, and a search from the start would visit them all. Transactions do not commit in the order of their ids, so the start advances to an id
 * only when both are true: all transactions that were open when its row was processed have ended, and a later search found no row up to it.
 * Only a search of the whole outbox finds the rows of transactions that stay open for more than a minute, and rows that were deferred.
 */
export function createSearchStart(): SearchStart {
  const limit = createCostLimit('outbox');
  let searchedAllAt = Number.NEGATIVE_INFINITY;
  let start = 0;
  let last = 0;
  /** The id to which the start advances next, and the id that the next transaction had when it was chosen. */
  let step = { id: 0, at: Number.NEGATIVE_INFINITY, transaction: '0' };

  /** Returns the id to which the start may advance if a search finds no row up to it. */
  async function findNextStart(executor: Executor): Promise<number> {
    const now = performance.now();
    if (last - start < STEP_IDS || now - step.at < STEP_MS) return start;
    const statement = { name: 'outbox_transactions', text: READ_TRANSACTIONS, values: [step.transaction] };
    const [row] = await executor.write<[hasEnded: boolean, next: string]>(statement);
    const [hasEnded, transaction] = row!;
    if (!hasEnded && now - step.at < MAX_OPEN_MS) return start;
    const { id } = step;
    step = { id: last, at: now, transaction };
    return id;
  }

  async function searchAll<Row>(executor: Executor, search: (after: number) => Promise<Row[]>) {
    searchedAllAt = performance.now();
    const rows = await search(0);
    await limit.noteRun(executor, performance.now() - searchedAllAt - rows.length * MS_PER_ROW);
    return { rows, after: 0 };
  }

  return {
    async find(executor, search, idOf) {
      const next = await findNextStart(executor);
      const isAllDue = limit.isDue() && performance.now() - searchedAllAt >= SEARCH_ALL_EVERY_MS;
      const after = start;
      let found = isAllDue ? await searchAll(executor, search) : { rows: await search(after), after };
      if (found.rows.length === 0 && found.after > 0 && limit.isDue()) found = await searchAll(executor, search);
      if (found.rows.every((row) => idOf(row) > next)) start = Math.max(start, next);
      return found;
    },
    noteProcessed(rows) {
      for (const { id } of rows) last = Math.max(last, id);
    },
  };
}
