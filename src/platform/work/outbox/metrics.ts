import { Gauge } from 'prom-client';
import type { Database } from '../../data/postgres/database.ts';
import type { Logger } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { MAX_COUNTED_ROWS, type OutboxState, readOutboxState } from './state.ts';

/** ms for which a state is reused, so that one query serves all gauges of a scrape. */
const FRESH_MS = 1000;

const GAUGES: readonly [name: string, help: string, readValue: (state: OutboxState) => number][] = [
  ['belfry_outbox_rows', `Rows in the outbox, counted up to ${MAX_COUNTED_ROWS}.`, ({ rows }) => rows],
  ['belfry_outbox_oldest_seconds', 'Age of the first row in the outbox.', ({ oldestSeconds }) => oldestSeconds ?? 0],
  [
    'belfry_db_oldest_snapshot_seconds',
    'Age of the oldest snapshot of the database: vacuum cannot remove rows that were deleted since.',
    ({ snapshotSeconds }) => snapshotSeconds ?? 0,
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
  let last: { at: number; state: Promise<OutboxState | undefined> } | undefined;

  function readCachedState(): Promise<OutboxState | undefined> {
    if (last === undefined || performance.now() - last.at > FRESH_MS) {
      const state = readOutboxState(database).catch((error: unknown) => {
        log.warn({ err: error }, 'the state of the outbox could not be read; its gauges are NaN');
        return undefined;
      });
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
