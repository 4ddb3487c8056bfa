import { createCostLimit } from '../../data/postgres/cost-limit.ts';
import type { Executor } from '../../data/postgres/queryable.ts';
import { findsRowSql } from '../outbox/conditions.ts';

/** Rows that wait, and an index on the time at which they are due. */
interface WaitingRows {
  table: string;
  /** The column of the time. */
  time: string;
  /**
   * The column before the time in the index, and its values. Each value is searched on its own, so that many rows of one do not keep those of the
   * others from being found.
   */
  each?: { column: string; values: readonly string[] };
  /** The condition of the index, which rows meet until they are finished. */
  open?: string;
  /** The further condition of overdue rows. */
  overdue: string;
  /** The columns to return. */
  columns: string;
  /** Maximum number of rows, of each value. */
  limit: number;
}

/** The search for overdue rows. */
export interface OverdueSearch<Row> {
  /** The condition of a sweep: there are overdue rows. Not with `each`. */
  condition: string;
  /** Returns overdue rows, of each value the earliest first. */
  find(): Promise<Row[]>;
  /** Where the next search begins, for each kind of rows and each of its values: SQL of timestamps. */
  starts(): readonly (readonly string[])[];
}

/** @param kind from 0: the first of its two parameters is the list of values, the second one where the search for each begins */
function searchSql({ table, time, each, open = 'true', overdue, columns, limit }: WaitingRows, kind: number): string {
  const rows = `from ${table} where ${open}${each === undefined ? '' : ` and ${each.column} = k.value`}`;
  // With `offset`, the start is found once for both of its uses.
  return `
  select ${kind}, k.place::int - 1, s.at, d.*
  from unnest($${2 * kind + 1}::text[], $${2 * kind + 2}::timestamptz[]) with ordinality k(value, start, place) cross join lateral (
    select least((select ${time} ${rows} and ${time} >= k.start and ${time} <= now() order by ${time} limit 1), now() - interval '10 seconds') as at
    offset 0
  ) s left join lateral (
    select true, ${columns} ${rows} and ${time} >= s.at and ${overdue} order by ${time} limit ${limit}
  ) d on true`;
}

/**
 * Creates a search for overdue rows, of one or more kinds in one table. It begins at the earliest row that waited in the last one, or 10 s ago if
 * none did, because vacuum may not have removed finished rows from the index. Only a search from the start finds rows that were committed later
 * than that; it is rare while it is expensive.
 *
 * @param name the name of the statement
 */
export function createOverdueSearch<Row extends unknown[]>(
  database: Executor,
  name: string,
  ...kinds: readonly [WaitingRows, ...WaitingRows[]]
): OverdueSearch<Row> {
  const text = kinds.map(searchSql).join(' union all ');
  const costLimit = createCostLimit(kinds[0].table);
  const values = kinds.map(({ each }) => each?.values ?? ['']);
  const createStarts = () => values.map((own) => own.map(() => '-infinity'));
  let starts = createStarts();

  async function find(): Promise<Row[]> {
    const isComplete = costLimit.isDue();
    const startedAt = performance.now();
    const from = isComplete ? createStarts() : starts;
    const statement = { name, text, values: values.flatMap((own, kind) => [own, from[kind]]) };
    const rows = await database.write<[kind: number, place: number, at: string, found: true | null, ...Row]>(statement);
    starts = createStarts();
    for (const [kind, place, at] of rows) starts[kind]![place] = at;
    if (isComplete) await costLimit.noteRun(database, performance.now() - startedAt);
    return rows.flatMap(([, , , found, ...row]) => (found ? [row as unknown as Row] : []));
  }

  const conditions = kinds.map(({ table, time, open = 'true', overdue }) =>
    findsRowSql(`select from ${table} where ${open} and ${overdue} order by ${time} limit 1`),
  );
  return { condition: conditions.join(' or '), find, starts: () => starts };
}
