import { createCostLimit } from '../../data/postgres/cost-limit.ts';
import type { Executor } from '../../data/postgres/queryable.ts';
import { findsRowSql } from '../outbox/conditions.ts';

/** Rows that wait, and an index on the time at which they are due. */
interface WaitingRows {
  /** The name of the statement. */
  name: string;
  table: string;
  /** The column of the time. */
  time: string;
  /** The condition of the index, which rows meet until they are finished. */
  open?: string;
  /** The further condition of overdue rows. */
  overdue: string;
  /** The columns to return. */
  columns: string;
  /** Maximum number of rows. */
  limit: number;
}

/** The search for overdue rows of a table. */
export interface OverdueSearch<Row> {
  /** The condition of a sweep: there are overdue rows. */
  condition: string;
  /** Returns overdue rows, the earliest first. */
  find(): Promise<Row[]>;
}

/**
 * Creates a search for overdue rows. It begins at the earliest row that waited in the last one, or 10 s ago if none did, because vacuum may
 * not have removed finished rows from the index. Only a search from the start finds rows that were committed later than that; it is rare
 * while it is expensive.
 */
export function createOverdueSearch<Row extends unknown[]>(
  database: Executor,
  { name, table, time, open = 'true', overdue, columns, limit }: WaitingRows,
): OverdueSearch<Row> {
  const text = `
  with start as materialized (
    select least(min(${time}), now() - interval '10 seconds') as at from ${table} where ${open} and ${time} >= $1
  )
  select s.at, d.* from start s left join lateral (
    select true, ${columns} from ${table} where ${open} and ${time} >= s.at and ${overdue} order by ${time} limit ${limit}
  ) d on true`;
  const costLimit = createCostLimit(table);
  let start = '-infinity';
  async function find(): Promise<Row[]> {
    const isComplete = costLimit.isDue();
    const startedAt = performance.now();
    const values = [isComplete ? '-infinity' : start];
    const rows = await database.write<[at: string, found: true | null, ...Row]>({ name, text, values });
    start = rows[0]![0];
    if (isComplete) await costLimit.noteRun(database, performance.now() - startedAt);
    return rows.flatMap(([, found, ...row]) => (found ? [row as unknown as Row] : []));
  }

  const condition = findsRowSql(`select from ${table} where ${open} and ${overdue} order by ${time} limit 1`);
  return { condition, find };
}
