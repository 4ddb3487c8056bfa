import { Counter, Gauge, Registry } from 'prom-client';
import { ApiError } from '../../helpers/errors.ts';
import type { Logger } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Tracing } from '../../observability/tracing.ts';
import type { OnResult } from '../postgres/connection.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { isConcurrencyConflict, isDatabaseError, isStatementTimeout, isTransient } from '../postgres/errors.ts';
import { withDatabaseMetrics } from '../postgres/metrics.ts';
import type { Queryable } from '../postgres/queryable.ts';
import { logConnectionLimits } from '../postgres/server-limits.ts';
import { withDatabaseTracing } from '../postgres/tracing.ts';
import type { RedisConnections } from '../redis/connections.ts';
import type { ReplicaSettings } from './environment.ts';
import { createReplicaMonitor, MAX_UNCHECKED_MS } from './monitor.ts';
import { createOwnWrites } from './own-writes.ts';
import { createReplicaProgress } from './progress.ts';

/** A list that a client requests. */
export interface ListRead {
  /** The user who requests it; undefined: nobody is signed in. */
  userId: string | undefined;
  /** The list must include everything committed before this time of the primary. */
  notBefore?: number | undefined;
  /** Whether the client asked for the newest state. */
  newestRequested?: boolean;
}

/** The read replica of an app. */
export interface Replica {
  /**
   * Reads on the replica. A statement that fails because of the replica runs again on the primary.
   *
   * @param onRetry called for each statement that runs again
   */
  createReads(onRetry?: () => void): Queryable;
  /** Chooses the server of a client's list, and counts the choice. */
  chooseServer(read: ListRead): Promise<'replica' | 'primary'>;
  /** Records that a user has just changed a record: their lists are read from the primary until the replica has the change. */
  addWrite(userId: string): void;
  /** The time of the primary, or slightly later. */
  primaryNow(): number;
  /**
   * Waits until the replica has everything that is committed now.
   *
   * @returns the connections to read from: those of the primary if the replica cannot be used or takes too long
   */
  waitForReplicaOrUsePrimary(): Promise<Pick<Database, 'holdConnection'>>;
  /**
   * Begins to watch the replica, and exports its metrics. Only for processes that serve lists.
   *
   * @throws StartupError if the server is certainly no replica of the primary
   */
  start(): Promise<void>;
  /** Ends all connections to the replica at once. */
  close(): void;
}

/** The connections and services that a replica needs. */
export interface ReplicaParts {
  primary: Database;
  redis: Pick<RedisConnections, 'commands' | 'onPossibleFailover'>;
  /** The prefix of all Redis keys, and the application name in pg_stat_activity. */
  prefix: string;
  log: Logger;
  metrics: Pick<Metrics, 'registry'>;
  tracing: Tracing;
  /** Called with each statement that has ended. */
  onResult?: OnResult;
}

/** Beyond the time for which a replica may lag or its lag be unknown: that of the checks, and of a request that began before. */
const KEEP_MARGIN_MS = MAX_UNCHECKED_MS + 5000;
const CHECK_REDIS_EVERY_MS = 1000;
const WAIT_PAUSE_MS = 100;

const REASONS = ['own_write', 'cursor', 'requested', 'lag', 'unknown_lag', 'unavailable', 'redis'] as const;
type Reason = (typeof REASONS)[number];

/** Whether a statement that failed on the replica may succeed on the primary, without burdening it with what overloads the replica. */
function mayRunOnPrimary(error: unknown): boolean {
  if (error instanceof ApiError || isStatementTimeout(error)) return false;
  const code = String((error as { code?: unknown } | null)?.code ?? '');
  const isWaitTimeout = code === '53300' && !isDatabaseError(error);
  // Class 22: a value that the primary would refuse, too.
  return !isWaitTimeout && !code.startsWith('22');
}

/** Creates the counters of a replica. */
function createCounters(registry: Registry) {
  const registers = [registry];
  const lists = new Counter({
    name: 'belfry_db_replica_lists_total',
    help: `Lists of clients by the server that was chosen before the list was authorized: replica, or primary, because of: ${REASONS.join(', ')}.`,
    labelNames: ['target', 'reason'],
    registers,
  });
  const labelsOf = (reason: Reason | undefined) =>
    reason === undefined ? { target: 'replica', reason: 'none' } : { target: 'primary', reason };
  for (const reason of [undefined, ...REASONS]) lists.inc(labelsOf(reason), 0);
  const retries = new Counter({
    name: 'belfry_db_replica_retries_total',
    help: 'Statements that failed on the replica and ran again on the primary.',
    registers,
  });
  return { countList: (reason: Reason | undefined) => lists.inc(labelsOf(reason)), countRetry: () => retries.inc() };
}

/** Opens the read replica of an app. Connections are opened by `start`, or at first use. */
export function openReplica(
  { url, pooler, poolMax, maxLagMs }: ReplicaSettings,
  { primary, redis, prefix, log, metrics, tracing, onResult }: ReplicaParts,
): Replica {
  // Exported by `start` only: processes that serve no lists do not watch the replica.
  const registry = new Registry();
  const pooled = openDatabase(url, prefix, log, { poolMax, pooler, isReplica: true, onResult });
  const database = withDatabaseTracing(withDatabaseMetrics(pooled, { registry }, 'belfry_db_replica'), tracing);
  const progress = createReplicaProgress();
  const address = new URL(url).host;
  /** Ends the waits for statements of the replica. */
  const pending = new Set<(error: unknown) => void>();
  const abandonStatements = (error: unknown) => {
    for (const giveUp of pending) giveUp(error);
  };
  const monitor = createReplicaMonitor(
    { primary, replica: database, address, abandonStatements },
    progress,
    maxLagMs,
    log,
  );
  const ownWrites = createOwnWrites({ redis, prefix, keepMs: maxLagMs + KEEP_MARGIN_MS, progress, log });
  const { countList, countRetry } = createCounters(registry);
  let redisTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  new Gauge({
    name: 'belfry_db_replica_in_use',
    help: 'Whether lists are read from the replica: 1 or 0.',
    registers: [registry],
    collect() {
      this.set(monitor.unusableReason() === undefined ? 1 : 0);
    },
  });
  new Gauge({
    name: 'belfry_db_replica_lag_seconds',
    help: 'How old the data of the replica is at most. Includes the time since the last check.',
    registers: [registry],
    collect() {
      this.set(progress.ageMs() / 1000);
    },
  });

  /** Runs work again on the primary if it fails because of the replica. */
  async function orOnPrimary<T>(
    onReplica: () => Promise<T>,
    onPrimary: () => Promise<T>,
    onRetry?: () => void,
  ): Promise<T> {
    // A request with several statements must not wait again for a replica that an earlier one has found lost.
    if (monitor.unusableReason() === 'unavailable') return onPrimary();
    try {
      return await onReplica();
    } catch (error) {
      if (monitor.unusableReason() !== 'unavailable' && !mayRunOnPrimary(error)) throw error;
      if (isTransient(error) && !isConcurrencyConflict(error)) monitor.checkSoon();
      countRetry();
      onRetry?.();
      return onPrimary();
    }
  }

  /** Like `orOnPrimary`, and does not wait for a replica that has been lost. */
  async function readOrOnPrimary<T>(
    onReplica: () => Promise<T>,
    onPrimary: () => Promise<T>,
    onRetry?: () => void,
  ): Promise<T> {
    const { promise: lost, reject } = Promise.withResolvers<never>();
    pending.add(reject);
    try {
      return await orOnPrimary(() => Promise.race([onReplica(), lost]), onPrimary, onRetry);
    } finally {
      pending.delete(reject);
    }
  }

  async function findReasonForPrimary({ userId, notBefore, newestRequested }: ListRead): Promise<Reason | undefined> {
    const unusable = monitor.unusableReason();
    if (unusable !== undefined) return unusable;
    if (newestRequested) return 'requested';
    if (notBefore !== undefined && !progress.hasCommitsUntil(notBefore)) return 'cursor';
    const write = userId === undefined ? undefined : await ownWrites.find(userId);
    if (write === undefined) return undefined;
    return write === 'unknown' ? 'redis' : 'own_write';
  }

  const holdReplicaOrPrimary: Pick<Database, 'holdConnection'> = {
    holdConnection: () => orOnPrimary(database.holdConnection, primary.holdConnection),
  };

  /** Checks Redis regularly. */
  async function watchRedis(): Promise<void> {
    await ownWrites.check();
    if (isClosed) return;
    redisTimer = setTimeout(() => void watchRedis(), CHECK_REDIS_EVERY_MS);
    redisTimer.unref();
  }

  return {
    createReads: (onRetry) => ({
      read: (statement) =>
        readOrOnPrimary(
          () => database.read(statement),
          () => primary.read(statement),
          onRetry,
        ),
      readList: (sendable) =>
        readOrOnPrimary(
          () => database.readList(sendable),
          () => primary.readList(sendable),
          onRetry,
        ),
      readSlowly: (statement) =>
        readOrOnPrimary(
          () => database.readSlowly(statement),
          () => primary.readSlowly(statement),
          onRetry,
        ),
      write: primary.write,
    }),
    async chooseServer(read) {
      const reason = await findReasonForPrimary(read);
      countList(reason);
      return reason === undefined ? 'replica' : 'primary';
    },
    addWrite: ownWrites.add,
    // Without a sample, the clocks of two machines are close enough: nothing is read from the replica before the first one.
    primaryNow: () => progress.primaryNow() ?? Date.now(),
    async waitForReplicaOrUsePrimary() {
      const until = performance.now() + maxLagMs;
      if (!(await monitor.check())) return primary;
      const now = progress.primaryNow();
      while (now !== undefined && performance.now() < until) {
        if (progress.hasCommitsUntil(now)) return holdReplicaOrPrimary;
        await new Promise((resolve) => setTimeout(resolve, WAIT_PAUSE_MS));
        if (!(await monitor.check())) break;
      }
      return primary;
    },
    async start() {
      // The types describe plain objects, but these are the metrics themselves.
      for (const metric of registry.getMetricsAsArray()) metrics.registry.registerMetric(metric as never);
      await Promise.all([monitor.start(), watchRedis()]);
      if (monitor.unusableReason() !== 'unavailable')
        await logConnectionLimits(database, log, { server: 'replica', setting: 'DATABASE_REPLICA_POOL_MAX' });
    },
    close() {
      isClosed = true;
      clearTimeout(redisTimer);
      monitor.stop();
      database.destroy();
    },
  };
}
