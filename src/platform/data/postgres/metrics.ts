import { Counter, Gauge, type Registry } from 'prom-client';
import type { Metrics } from '../../observability/metrics.ts';
import type { Database, PoolStats } from './database.ts';
import { isConcurrencyConflict, isDatabaseError, isStatementTimeout, isTransient } from './errors.ts';

// Classes 22 and 23: a value or a duplicate that Postgres refuses. The client gets a 4xx.
const CAUSED_BY_INPUT = /^2[23]/;

const ERROR_KINDS = ['timeout', 'conflict', 'unavailable', 'other'] as const;

/** The label of a failed statement or transaction; undefined if it did not fail because of Postgres. */
function classifyError(error: unknown): (typeof ERROR_KINDS)[number] | undefined {
  if (isStatementTimeout(error)) return 'timeout';
  if (isConcurrencyConflict(error)) return 'conflict';
  if (isTransient(error)) return 'unavailable';
  if (!isDatabaseError(error) || CAUSED_BY_INPUT.test((error as { code?: string }).code ?? '')) return undefined;
  return 'other';
}

type LaneStats = NonNullable<PoolStats['lanes'][keyof PoolStats['lanes']]>;

/** Names without the prefix of the database. */
type GaugeDefinition<S> = [name: string, help: string, value: (stats: S) => number];

const POOL_GAUGES: readonly GaugeDefinition<PoolStats>[] = [
  ['connections_max', 'Maximum number of Postgres connections of this process.', ({ max }) => max],
  ['connections_open', 'Open connections, including those that are being opened.', ({ open }) => open],
  ['connections_idle', 'Open connections that nothing uses.', ({ idle }) => idle],
];

const LANE_GAUGES: readonly GaugeDefinition<LaneStats>[] = [
  ['lane_max', 'Maximum number of connections by lane: by kind of work.', ({ max }) => max],
  ['lane_busy', 'Connections that a lane uses.', ({ busy }) => busy],
  ['lane_waiting', 'Callers that wait for a connection of a lane.', ({ waiting }) => waiting],
];

function addPoolMetrics(registry: Registry, prefix: string, database: Pick<Database, 'stats'>): void {
  const registers = [registry];
  for (const [name, help, value] of POOL_GAUGES) {
    new Gauge({
      name: `${prefix}_${name}`,
      help,
      registers,
      collect() {
        this.set(value(database.stats()));
      },
    });
  }
  for (const [name, help, value] of LANE_GAUGES) {
    new Gauge({
      name: `${prefix}_${name}`,
      help,
      labelNames: ['lane'],
      registers,
      collect() {
        for (const [lane, stats] of Object.entries(database.stats().lanes)) this.set({ lane }, value(stats));
      },
    });
  }
  new Counter({
    name: `${prefix}_failed_connections_total`,
    help: 'Connections that could not be opened.',
    registers,
    collect() {
      this.reset();
      this.inc(database.stats().failedOpens);
    },
  });
  new Counter({
    name: `${prefix}_wait_timeouts_total`,
    help: 'Callers that waited in vain for a connection of a lane.',
    labelNames: ['lane'],
    registers,
    collect() {
      this.reset();
      for (const [lane, { waitTimeouts }] of Object.entries(database.stats().lanes)) this.inc({ lane }, waitTimeouts);
    },
  });
}

/**
 * Adds the metrics of a database: its connections, and the errors of its statements, which take no longer.
 *
 * @param prefix the beginning of the names of the metrics
 */
export function withDatabaseMetrics<D extends Database>(
  database: D,
  { registry }: Pick<Metrics, 'registry'>,
  prefix = 'belfry_db',
): D {
  addPoolMetrics(registry, prefix, database);
  const errors = new Counter({
    name: `${prefix}_errors_total`,
    help: `Statements and transactions that failed because of Postgres, by kind: ${ERROR_KINDS.join(', ')}.`,
    labelNames: ['kind'],
    registers: [registry],
  });
  // Start at 0, so that Prometheus sees the first error as an increase.
  for (const kind of ERROR_KINDS) errors.inc({ kind }, 0);
  const countError = (error: unknown) => {
    const kind = classifyError(error);
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
