import { Gauge } from 'prom-client';
import type { Logger } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Database } from '../postgres/database.ts';

/** The number at which counting the outbox stops: a larger backlog is as alarming, and counting it would take long. */
const MAX_COUNTED_ROWS = 100_000;

// The age of a snapshot matters because vacuum cannot remove rows that it may still see, which slows down the outbox. Sessions of other
// Postgres users are only visible to members of pg_read_all_stats.
const STATE = `select
  (select count(*)::int from (select from outbox limit ${MAX_COUNTED_ROWS}) counted),
  (select extract(epoch from now() - created_at)::float8 from outbox order by id limit 1),
  (select extract(epoch from max(clock_timestamp() - xact_start))::float8 from pg_stat_activity
    where backend_xmin is not null and datname = current_database() and pid <> pg_backend_pid())`;

/** Outbox rows, age of the first in seconds, age of the oldest snapshot in seconds. */
type State = [rows: number, oldestSeconds: number | null, snapshotSeconds: number | null];

/** ms for which a state is reused, so that one query serves all gauges of a scrape. */
const FRESH_MS = 1000;

const GAUGES: readonly [name: string, help: string, readValue: (state: State) => number][] = [
  ['belfry_outbox_rows', `Rows in the outbox, counted up to ${MAX_COUNTED_ROWS}.`, ([rows]) => rows],
  ['belfry_outbox_oldest_seconds', 'Age of the first row in the outbox.', ([, oldest]) => oldest ?? 0],
  [
    'belfry_db_oldest_snapshot_seconds',
    'Age of the oldest snapshot of the database: vacuum cannot remove rows that were deleted since.',
    ([, , snapshot]) => snapshot ?? 0,
  ],
];

/** Registers the gauges of the outbox, for the relay. They query the database on each scrape, and are NaN while it is unavailable. */
export function addOutboxMetrics({
  metrics: { registry },
  database,
  log,
}: {
  metrics: Metrics;
  database: Pick<Database, 'readSlowly'>;
  log: Logger;
}): void {
  let last: { at: number; state: Promise<State | undefined> } | undefined;

  function readCachedState(): Promise<State | undefined> {
    if (last === undefined || performance.now() - last.at > FRESH_MS) {
      const state = database.readSlowly<State>({ name: 'outbox_state', text: STATE, values: [] }).then(
        ([row]) => row,
        (error) => {
          log.warn({ err: error }, 'the state of the outbox could not be read; its gauges are NaN');
          return undefined;
        },
      );
      last = { at: performance.now(), state };
    }
    return last.state;
  }

  for (const [name, help, readValue] of GAUGES) {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        const state = await readCachedState();
        this.set(state === undefined ? Number.NaN : readValue(state));
      },
    });
  }
}
