import { Counter, Gauge, type Registry } from 'prom-client';
import type { Metrics } from '../observability/metrics.ts';
import type { Database, PoolStats } from './database.ts';
import { isConcurrencyConflict, isDatabaseError, isStatementTimeout, isTransient } from './errors.ts';

// Classes 22 and 23: a value or a duplicate that Postgres refuses. The client gets a 4xx.
const CAUSED_BY_INPUT = /^2[23]/;

const ERROR_KINDS = ['timeout', 'conflict', 'unavailable', 'other'] as const;

/** The label of a failed statement or transaction; undefined if it did not fail because of Postgres. */
function errorKindOf(error: unknown): (typeof ERROR_KINDS)[number] | undefined {
  if (isStatementTimeout(error)) return 'timeout';
  if (isConcurrencyConflict(error)) return 'conflict';
  if (isTransient(error)) return 'unavailable';
  if (!isDatabaseError(error) || CAUSED_BY_INPUT.test((error as { code?: string }).code ?? '')) return undefined;
  return 'other';
}

type LaneStats = NonNullable<PoolStats['lanes'][keyof PoolStats['lanes']]>;

type GaugeDefinition<S> = [name: string, help: string, value: (stats: S) => number];

const POOL_GAUGES: readonly GaugeDefinition<PoolStats>[] = [
  ['belfry_db_connections_max', 'Maximum number of Postgres connections of this process.', ({ max }) => max],
  ['belfry_db_connections_open', 'Open connections, including those that are being opened.', ({ open }) => open],
  ['belfry_db_connections_idle', 'Open connections that nothing uses.', ({ idle }) => idle],
];

const LANE_GAUGES: readonly GaugeDefinition<LaneStats>[] = [
  ['belfry_db_lane_max', 'Maximum number of connections by lane: by kind of work.', ({ max }) => max],
  ['belfry_db_lane_busy', 'Connections that a lane uses.', ({ busy }) => busy],
  ['belfry_db_lane_waiting', 'Callers that wait for a connection of a lane.', ({ waiting }) => waiting],
];

function addPoolMetrics(registry: Registry, database: Pick<Database, 'stats'>): void {
  const registers = [registry];
  for (const [name, help, value] of POOL_GAUGES) {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value(database.stats()));
      },
    });
  }
  for (const [name, help, value] of LANE_GAUGES) {
    new Gauge({
      name,
      help,
      labelNames: ['lane'],
      registers,
      collect() {
        for (const [lane, stats] of Object.entries(database.stats().lanes)) this.set({ lane }, value(stats));
      },
    });
  }
  new Counter({
    name: 'belfry_db_failed_connections_total',
    help: 'Connections that could not be opened.',
    registers,
    collect() {
      this.reset();
      this.inc(database.stats().failedOpens);
    },
  });
  new Counter({
    name: 'belfry_db_wait_timeouts_total',
    help: 'Callers that waited in vain for a connection of a lane.',
    labelNames: ['lane'],
    registers,
    collect() {
      this.reset();
      for (const [lane, { waitTimeouts }] of Object.entries(database.stats().lanes)) this.inc({ lane }, waitTimeouts);
    },
  });
}

/** Adds the metrics of a database: its connections, and the errors of its statements, which take no longer. */
export function withDatabaseMetrics<D extends Database>(database: D, { registry }: Pick<Metrics, 'registry'>): D {
  addPoolMetrics(registry, database);
  const errors = new Counter({
    name: 'belfry_db_errors_total',
    help: `Statements and transactions that failed because of Postgres, by kind: ${ERROR_KINDS.join(', ')}.`,
    labelNames: ['kind'],
    registers: [registry],
  });
  // Start at 0, so that Prometheus sees the first error as an increase.
  for (const kind of ERROR_KINDS) errors.inc({ kind }, 0);
  const countError = (error: unknown) => {
    const kind = errorKindOf(error);
    if (kind !== undefined) errors.inc({ kind });
  };
  const counted =
    <Arguments extends unknown[], T>(run: (...given: Arguments) => Promise<T>) =>
    (...given: Arguments): Promise<T> => {
      const result = run(...given);
      result.catch(countError);
      return result;
    };
  return {
    ...database,
    read: counted(database.read),
    readList: counted(database.readList),
    readSlowly: counted(database.readSlowly),
    write: counted(database.write),
    transaction: counted(database.transaction),
  };
}
