import type { Database } from '../../data/postgres/database.ts';

/** The number at which counting stops: a larger backlog is as alarming, and counting it would take long. */
const MAX_COUNTED = 10_000;

/** How many rows wait for a worker. */
export interface BacklogState {
  /** The rows that a worker could take now. */
  due: number;
  /** Whether counting stopped there, because there may be more. */
  isCapped: boolean;
  /** For how long the first of them has been due, in seconds; null: none is. */
  oldestSeconds: number | null;
}

/** Rows in Postgres that wait for the workers of a role. `belfry status` and `belfry doctor` say how many wait, and whether a process has the role. */
export interface Backlog<Role extends string> {
  role: Role;
  /** The names of one row and of several for people: `['e-mail', 'e-mails']`. */
  names: readonly [one: string, many: string];
  /** Whether the entries of a queue in Redis point to these rows. */
  ownsQueue(name: string): boolean;
  read(): Promise<BacklogState>;
}

/**
 * Creates the function that reads how many rows are due.
 *
 * @param dueSql a query for the times from which the rows are due, with an index that has them in this order
 */
export function createBacklogReader(
  database: Pick<Database, 'readSlowly'>,
  dueSql: string,
  values: unknown[] = [],
): () => Promise<BacklogState> {
  const text = `
    select count(*)::int, extract(epoch from now() - min(due_at))::float8
    from (${dueSql} limit ${MAX_COUNTED}) as due(due_at)`;
  return async () => {
    const [row] = await database.readSlowly<[number, number | null]>({ text, values });
    const [due, oldestSeconds] = row!;
    return { due, isCapped: due >= MAX_COUNTED, oldestSeconds };
  };
}
