import type { Database } from '../../data/postgres/database.ts';

/** The number at which counting the outbox stops: a larger backlog is as alarming, and counting it would take long. */
export const MAX_COUNTED_ROWS = 100_000;
/** The relay takes rows within seconds, unless there is no relay, it is too slow, or rows fail. */
export const MAX_OUTBOX_SECONDS = 60;

// The age of a snapshot matters because vacuum cannot remove rows that it may still see, which slows down the outbox. Sessions of other
// Postgres users are only visible to members of pg_read_all_stats.
const STATE = `select
  (select count(*)::int from (select from outbox limit ${MAX_COUNTED_ROWS}) counted),
  (select extract(epoch from now() - created_at)::float8 from outbox order by id limit 1),
  (select extract(epoch from max(clock_timestamp() - xact_start))::float8 from pg_stat_activity
    where backend_xmin is not null and datname = current_database() and pid <> pg_backend_pid())`;

/** The backlog of the outbox. */
export interface OutboxState {
  /** Counted up to 100,000. */
  rows: number;
  /** The age of the first row in seconds; null: there is none. */
  oldestSeconds: number | null;
  /** The age of the oldest snapshot of the database in seconds; null: there is none. */
  snapshotSeconds: number | null;
}

/** Reads the backlog of the outbox with one statement. */
export async function readOutboxState(database: Pick<Database, 'readSlowly'>): Promise<OutboxState> {
  const [row] = await database.readSlowly<[number, number | null, number | null]>({
    name: 'outbox_state',
    text: STATE,
    values: [],
  });
  const [rows, oldestSeconds, snapshotSeconds] = row!;
  return { rows, oldestSeconds, snapshotSeconds };
}
