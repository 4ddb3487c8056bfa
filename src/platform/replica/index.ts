import { Counter, Gauge } from 'prom-client';
import type { ReplicaSettings } from '../config/replica-environment.ts';
import { ApiError } from '../errors.ts';
import type { Logger } from '../observability/log.ts';
import type { Metrics } from '../observability/metrics.ts';
import type { Tracing } from '../observability/tracing.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { isConcurrencyConflict, isDatabaseError, isStatementTimeout, isTransient } from '../postgres/errors.ts';
import type { Queryable } from '../postgres/queryable.ts';
import { logConnectionLimits } from '../postgres/server-limits.ts';
import { withDatabaseTracing } from '../postgres/tracing.ts';
import type { RedisClient } from '../redis/connections.ts';
import { createReplicaMonitor } from './monitor.ts';
import { createOwnWrites } from './own-writes.ts';
import { createReplicaProgress } from './progress.ts';

/** A list that a client requests. */
export interface ListRead {
  /** The user who requests it; undefined: nobody is signed in. */
  userId: string | undefined;
  /** The list must include everything committed before this time of the primary. */
  notBefore?: number | undefined;
  /** Whether the client asked for the newest state. */
  fresh?: boolean;
}

/** The read replica of an app. */
export interface Replica {
  /** Reads of lists. A statement that fails because of the replica runs again on the primary. */
  reads: Queryable;
  /** Decides whether a list may be read from the replica. */
  mayServe(read: ListRead): Promise<boolean>;
  /** Records that a user has just changed a record: their lists are read from the primary until the replica has the change. */
  addWrite(userId: string): void;
  /** The time of the primary, or slightly later. */
  primaryNow(): number;
  /** The number of statements that ran again on the primary. */
  retries(): number;
  /**
   * Waits until the replica has everything that is committed now.
   *
   * @returns the connections to read from: those of the primary if the replica cannot be used or takes too long
   */
  catchUp(): Promise<Pick<Database, 'holdConnection'>>;
  /**
   * Begins to watch the replica.
   *
   * @throws StartupError if the server is certainly no replica of the primary
   */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** The connections and services that a replica needs. */
export interface ReplicaParts {
  primary: Database;
  redis: RedisClient;
  /** The prefix of all Redis keys, and the application name in pg_stat_activity. */
  prefix: string;
  log: Logger;
  metrics: Pick<Metrics, 'registry'>;
  tracing: Tracing;
}

/** Beyond the greatest lag: the time of the checks and of a request that began before the replica fell behind. */
const KEEP_MARGIN_MS = 5000;
const CATCH_UP_PAUSE_MS = 100;

const REASONS = ['own_write', 'cursor', 'requested', 'lag', 'unavailable', 'redis'] as const;
type Reason = (typeof REASONS)[number];

/** Whether a statement that failed on the replica may succeed on the primary, without burdening it with what overloads the replica. */
function mayRunOnPrimary(error: unknown): boolean {
  if (error instanceof ApiError || isStatementTimeout(error)) return false;
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  const isWaitTimeout = code === '53300' && !isDatabaseError(error);
  // Class 22: a value that the primary would refuse, too.
  return !isWaitTimeout && !code.startsWith('22');
}

function createListCounter(registry: Metrics['registry']): (reason: Reason | undefined) => void {
  const lists = new Counter({
    name: 'belfry_db_replica_lists_total',
    help: `Lists of clients by the server that was chosen: replica, or primary, because of: ${REASONS.join(', ')}.`,
    labelNames: ['target', 'reason'],
    registers: [registry],
  });
  const labelsOf = (reason: Reason | undefined) =>
    reason === undefined ? { target: 'replica', reason: 'none' } : { target: 'primary', reason };
  for (const reason of [undefined, ...REASONS]) lists.inc(labelsOf(reason), 0);
  return (reason) => lists.inc(labelsOf(reason));
}

/** Opens the read replica of an app. Connections are opened by `start`, or at first use. */
export function openReplica(
  { url, pooler, poolMax, maxLagMs }: ReplicaSettings,
  { primary, redis, prefix, log, metrics: { registry }, tracing }: ReplicaParts,
): Replica {
  const database = withDatabaseTracing(openDatabase(url, prefix, log, { poolMax, pooler, isReplica: true }), tracing);
  const progress = createReplicaProgress();
  const address = new URL(url).host;
  /** Ends the waits for statements of the replica. */
  const pending = new Set<(error: unknown) => void>();
  const onLost = (error: unknown) => {
    for (const giveUp of pending) giveUp(error);
  };
  const monitor = createReplicaMonitor({ primary, replica: database, address, onLost }, progress, maxLagMs, log);
  const ownWrites = createOwnWrites(redis, prefix, { keepMs: maxLagMs + KEEP_MARGIN_MS, progress, log });
  const countList = createListCounter(registry);
  const registers = [registry];
  const retries = new Counter({
    name: 'belfry_db_replica_retries_total',
    help: 'Statements that failed on the replica and ran again on the primary.',
    registers,
  });
  let retried = 0;

  new Gauge({
    name: 'belfry_db_replica_in_use',
    help: 'Whether lists are read from the replica: 1 or 0.',
    registers,
    collect() {
      this.set(monitor.problem() === undefined ? 1 : 0);
    },
  });
  new Gauge({
    name: 'belfry_db_replica_lag_seconds',
    help: 'How old the data of the replica is at most. Includes the time since the last check.',
    registers,
    collect() {
      this.set(progress.lagMs() / 1000);
    },
  });
  new Gauge({
    name: 'belfry_db_replica_connections_open',
    help: 'Open connections to the replica, including those that are being opened.',
    registers,
    collect() {
      this.set(database.stats().open);
    },
  });

  /** Runs work again on the primary if it fails because of the replica. */
  async function orOnPrimary<T>(onReplica: () => Promise<T>, onPrimary: () => Promise<T>): Promise<T> {
    try {
      return await onReplica();
    } catch (error) {
      if (monitor.problem() !== 'unavailable' && !mayRunOnPrimary(error)) throw error;
      if (isTransient(error) && !isConcurrencyConflict(error)) monitor.reportFailure(error);
      retried += 1;
      retries.inc();
      return onPrimary();
    }
  }

  /** Like `orOnPrimary`, and does not wait for a replica that has been lost. */
  async function readOrOnPrimary<T>(onReplica: () => Promise<T>, onPrimary: () => Promise<T>): Promise<T> {
    const { promise: lost, reject } = Promise.withResolvers<never>();
    pending.add(reject);
    try {
      return await orOnPrimary(() => Promise.race([onReplica(), lost]), onPrimary);
    } finally {
      pending.delete(reject);
    }
  }

  async function findReasonForPrimary({ userId, notBefore, fresh }: ListRead): Promise<Reason | undefined> {
    const problem = monitor.problem();
    if (problem !== undefined) return problem;
    if (fresh) return 'requested';
    if (notBefore !== undefined && !progress.hasCommitsUntil(notBefore)) return 'cursor';
    const write = userId === undefined ? undefined : await ownWrites.find(userId);
    if (write === undefined) return undefined;
    return write === 'unknown' ? 'redis' : 'own_write';
  }

  const holdReplicaOrPrimary: Pick<Database, 'holdConnection'> = {
    holdConnection: () => orOnPrimary(database.holdConnection, primary.holdConnection),
  };

  return {
    reads: {
      read: (statement) =>
        readOrOnPrimary(
          () => database.read(statement),
          () => primary.read(statement),
        ),
      readList: (sendable) =>
        readOrOnPrimary(
          () => database.readList(sendable),
          () => primary.readList(sendable),
        ),
      readSlowly: (statement) =>
        readOrOnPrimary(
          () => database.readSlowly(statement),
          () => primary.readSlowly(statement),
        ),
      write: primary.write,
    },
    async mayServe(read) {
      const reason = await findReasonForPrimary(read);
      countList(reason);
      return reason === undefined;
    },
    addWrite: ownWrites.add,
    // Without a sample, the clocks of two machines are close enough: nothing is read from the replica before the first one.
    primaryNow: () => progress.primaryNow() ?? Date.now(),
    retries: () => retried,
    async catchUp() {
      const until = performance.now() + maxLagMs;
      if (!(await monitor.check())) return primary;
      const now = progress.primaryNow();
      while (now !== undefined && performance.now() < until) {
        if (progress.hasCommitsUntil(now)) return holdReplicaOrPrimary;
        await new Promise((resolve) => setTimeout(resolve, CATCH_UP_PAUSE_MS));
        if (!(await monitor.check())) break;
      }
      return primary;
    },
    async start() {
      await monitor.start();
      if (monitor.problem() !== 'unavailable')
        await logConnectionLimits(database, log, { server: 'replica', setting: 'DATABASE_REPLICA_POOL_MAX' });
    },
    async close() {
      monitor.stop();
      await database.close();
    },
  };
}
