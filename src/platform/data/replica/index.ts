import { Registry } from 'prom-client';
import type { Logger } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import type { Tracing } from '../../observability/tracing.ts';
import type { OnResult } from '../postgres/connection.ts';
import { type Database, openDatabase } from '../postgres/database.ts';
import { withDatabaseMetrics } from '../postgres/metrics.ts';
import type { Queryable } from '../postgres/queryable.ts';
import { logConnectionLimits } from '../postgres/server-limits.ts';
import { withDatabaseTracing } from '../postgres/tracing.ts';
import type { RedisConnections } from '../redis/connections.ts';
import type { ReplicaSettings } from './environment.ts';
import { createFallback, createReads } from './fallback.ts';
import { createReplicaMetrics, type Reason } from './metrics.ts';
import { MAX_UNCHECKED_MS, ReplicaMonitor, repeat } from './monitor.ts';
import { createOwnWrites } from './own-writes.ts';
import { createReplicaProgress, type ReplicaProgress } from './progress.ts';

/** A list that a client requests. */
interface ListRead {
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
interface ReplicaParts {
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

/** Waits until the replica has everything that is committed now. Returns false if it cannot be used or takes too long. */
async function waitForReplica(monitor: ReplicaMonitor, progress: ReplicaProgress, maxMs: number): Promise<boolean> {
  const until = performance.now() + maxMs;
  if (!(await monitor.check())) return false;
  const now = progress.primaryNow();
  while (now !== undefined && performance.now() < until) {
    if (progress.hasCommitsUntil(now)) return true;
    await new Promise((resolve) => setTimeout(resolve, WAIT_PAUSE_MS));
    if (!(await monitor.check())) return false;
  }
  return false;
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
  const monitor = new ReplicaMonitor(
    {
      primary,
      replica: database,
      address: new URL(url).host,
      abandonStatements: (error) => fallback.abandonReads(error),
    },
    progress,
    maxLagMs,
    log,
  );
  const ownWrites = createOwnWrites({ redis, prefix, keepMs: maxLagMs + KEEP_MARGIN_MS, progress, log });
  const { countList, countRetry } = createReplicaMetrics(registry, monitor, progress);
  const fallback = createFallback(monitor, countRetry);
  let stopWatchingRedis: () => void = () => undefined;
  let isClosed = false;

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
    holdConnection: () => fallback.run(database.holdConnection, primary.holdConnection),
  };

  /** Checks Redis regularly. */
  async function watchRedis(): Promise<void> {
    await ownWrites.check();
    if (!isClosed) stopWatchingRedis = repeat(ownWrites.check, CHECK_REDIS_EVERY_MS);
  }

  return {
    createReads: (onRetry) => createReads(fallback, database, primary, onRetry),
    async chooseServer(read) {
      const reason = await findReasonForPrimary(read);
      countList(reason);
      return reason === undefined ? 'replica' : 'primary';
    },
    addWrite: ownWrites.add,
    // Without a sample, the clocks of two machines are close enough: nothing is read from the replica before the first one.
    primaryNow: () => progress.primaryNow() ?? Date.now(),
    waitForReplicaOrUsePrimary: async () =>
      (await waitForReplica(monitor, progress, maxLagMs)) ? holdReplicaOrPrimary : primary,
    async start() {
      // The types describe plain objects, but these are the metrics themselves.
      for (const metric of registry.getMetricsAsArray()) metrics.registry.registerMetric(metric as never);
      await Promise.all([monitor.start(), watchRedis()]);
      if (monitor.unusableReason() !== 'unavailable')
        await logConnectionLimits(database, log, { server: 'replica', setting: 'DATABASE_REPLICA_POOL_MAX' });
    },
    close() {
      isClosed = true;
      stopWatchingRedis();
      monitor.stop();
      database.destroy();
    },
  };
}
