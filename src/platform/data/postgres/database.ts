import type { Logger } from '../../observability/log.ts';
import type { Connection, OnResult, PooledConnection, Statement } from './connection.ts';
import { ConnectionPool, type PoolStats } from './connection-pool.ts';
import { CLOSED } from './errors.ts';
import {
  DEFAULT_POOL_MAX,
  type LaneName,
  LIST_TIMEOUT_MS,
  MAX_SHARED_POOL,
  planLanes,
  planReplicaLanes,
} from './lanes.ts';
import { createConnector, type DatabaseAccess } from './pooler.ts';
import type { Executor, Queryable } from './queryable.ts';
import { retryConflicts } from './retry.ts';
import { IDLE_IN_TRANSACTION_TIMEOUT_MS, type PoolerSetting, STATEMENT_TIMEOUT_MS } from './session.ts';
import { type LaneDepth, type Send, type Sendable, SharedLane, sendPlain } from './shared-lane.ts';
import { watchTransaction } from './transaction-watch.ts';
import { createWriteGroups } from './write-groups.ts';

export type { PoolStats } from './connection-pool.ts';
export type { Executor } from './queryable.ts';

/** A connection that a caller holds, for a cursor. */
interface HeldConnection {
  connection: Connection;
  /** Changes the time without any response after which the server counts as hung. */
  setSilenceLimit(ms: number): void;
  /** @param broken closes the connection, because its state is not known */
  release(broken?: boolean): void;
}

/** The Postgres connections of one app. */
export interface Database extends Queryable {
  /**
   * Runs `work` in one transaction: committed when it resolves, rolled back when it rejects. If `work` catches the error of a failed
   * statement, Postgres cannot commit any more: the transaction is rolled back and rejects with that error.
   */
  transaction<T>(work: (tx: Executor & { connection: Connection }) => Promise<T>): Promise<T>;
  /**
   * Runs code in which another function opens a transaction, see `watchTransaction`. In production, only runs it.
   *
   * @param isOpen whether the transaction is open
   */
  watch<T>(isOpen: () => boolean, work: () => Promise<T>): Promise<T>;
  /**
   * Runs `work` on a connection that is reserved for transactions, but without a transaction: each statement is committed separately. For
   * statements that must not wait for other writes.
   */
  withConnection<T>(work: (executor: Executor) => Promise<T>): Promise<T>;
  /** Waits for a connection that is held across statements for up to minutes. The caller must release it. */
  holdConnection(): Promise<HeldConnection>;
  /** Changes the maximum number of connections, up to `MAX_SHARED_POOL`. Only for a database that was opened without `poolMax`. */
  resize(max: number): void;
  /** What stands between this process and Postgres; undefined before the first connection. */
  access(): DatabaseAccess | undefined;
  /**
   * Returns how the connections are used at this moment, for metrics. Cheap. All numbers are gauges, except the
   * counters `failedOpens` and `waitTimeouts`.
   */
  stats(): PoolStats;
  /** Ends all connections once their running statements have finished. */
  close(): Promise<void>;
  /** Ends all connections at once, whatever they are doing. Does not wait for the server. */
  destroy(): void;
}

/** How an app connects to Postgres. */
export interface DatabaseOptions {
  /** The maximum number of connections. Left out: the default of `web`, until `resize` is called. */
  poolMax?: number | undefined;
  pooler?: PoolerSetting;
  /** Whether the server is a read replica, so that no connections are kept for writes. */
  isReplica?: boolean;
  /** How long a caller waits for a connection. */
  maxWaitMs?: number;
  /** Whether hashes, requests and waits for Redis inside transactions are refused: in development and tests. */
  watchesTransactions?: boolean;
  onResult?: OnResult | undefined;
}

const MAX_WAIT_MS = 10_000;
const READS_SENT: LaneDepth = { always: 1000, fitting: 1000, bytes: 0 };
// Four keep a connection busy. They may be large, and a statement that has not been sent can still be refused. More of them are sent together as
// long as their results are small: a write to the socket costs more than anything else in a list.
const LISTS_SENT: LaneDepth = { always: 4, fitting: 32, bytes: 32 * 1024 * 1024 };

// The trigger that stores new rows of ranges (src/records/ranges/triggers.ts) only compares two times for a row that is inserted now.
const HAS_TRIGGERS = `select exists (select from pg_trigger
  where tgrelid = $1::regclass and not tgisinternal and (tgtype & 4) > 0 and tgname <> 'belfry_range_row_added')`;

const NOT_COMMITTED =
  'Postgres rolled the transaction back, because one of its statements had failed. Do not catch errors of statements.';

const BEGIN_POOLED = `begin; set local statement_timeout = ${STATEMENT_TIMEOUT_MS};
  set local idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MS}`;

/** Creates the lanes whose statements share connections. */
function createSharedLanes(pool: ConnectionPool, hasLists: boolean, maxWaitMs: number): Map<LaneName, SharedLane> {
  // Sign-ins must not wait behind many lists.
  const readsDepth = hasLists ? READS_SENT : { always: 8, fitting: 8, bytes: 0 };
  const lanes = new Map<LaneName, SharedLane>();
  lanes.set('reads', new SharedLane(pool, 'reads', { depth: readsDepth, maxWaitMs }));
  if (hasLists) lanes.set('lists', new SharedLane(pool, 'lists', { depth: LISTS_SENT, maxWaitMs }));
  return lanes;
}

/** Creates the function that runs transactions. @param begin returns the statement that begins one */
function createTransaction(
  acquire: (lane: LaneName) => Promise<PooledConnection>,
  release: ConnectionPool['release'],
  begin: () => string,
  watch: Database['watch'],
): Database['transaction'] {
  return async (work) => {
    const connection = await acquire('transactions');
    let broken = false;
    let isOpen = true;
    let failure: unknown;
    const write = async <Row extends unknown[]>(statement: Statement): Promise<Row[]> => {
      try {
        return await connection.run<Row>(statement);
      } catch (error) {
        failure ??= error;
        throw error;
      }
    };
    try {
      await connection.execute(begin());
      const result = await watch(
        () => isOpen,
        () => work({ connection, write }),
      );
      const tag = await connection.execute('commit');
      if (tag !== 'COMMIT') throw failure ?? new Error(NOT_COMMITTED);
      return result;
    } catch (error) {
      await connection.execute('rollback').catch(() => {
        broken = true;
      });
      throw error;
    } finally {
      isOpen = false;
      release('transactions', connection, broken);
    }
  };
}

/**
 * Creates the function that runs a write: in a transaction with others if it may share one, or else alone.
 *
 * @param ownsSessions whether connections for writes are not shared, and lead to Postgres itself; false before the first connection
 */
function createWrite(
  runIn: <Row extends unknown[]>(kind: LaneName, statement: Statement, send: Send) => Promise<Row[]>,
  runTogether: PooledConnection['runGroup'],
  ownsSessions: () => boolean,
  onResult: OnResult | undefined,
): Database['write'] {
  const writeAlone = (statement: Statement) => retryConflicts(() => runIn('writes', statement, sendPlain));
  async function hasTriggers(table: string): Promise<boolean> {
    const statement = { name: 'belfry_has_triggers', text: HAS_TRIGGERS, values: [table] };
    const [row] = await runIn<[boolean]>('reads', statement, sendPlain);
    return row![0];
  }
  const runInGroup = createWriteGroups(writeAlone, runTogether, hasTriggers, onResult);
  return <Row extends unknown[]>(statement: Statement) => {
    const mayShare = statement.sharesTransaction !== undefined && statement.name !== undefined && ownsSessions();
    return (mayShare ? runInGroup(statement) : writeAlone(statement)) as Promise<Row[]>;
  };
}

/** @param release gives the connection back */
function holdForCursor(connection: PooledConnection, release: (broken?: boolean) => void): HeldConnection {
  const { graceMs } = connection;
  return {
    connection,
    setSilenceLimit(ms) {
      connection.graceMs = ms - connection.timeoutMs;
    },
    release(broken) {
      connection.graceMs = graceMs;
      release(broken);
    },
  };
}

/**
 * Opens the database. Connections are opened at first use.
 *
 * @param url `postgres://…`
 * @param name the application name in pg_stat_activity
 */
export function openDatabase(url: string, name: string, log: Logger, options: DatabaseOptions = {}): Database {
  const { poolMax, pooler = 'auto', isReplica = false, maxWaitMs = MAX_WAIT_MS, onResult } = options;
  const connector = createConnector(url, name, pooler, log, onResult);
  const plan = (isReplica ? planReplicaLanes : planLanes)(poolMax ?? MAX_SHARED_POOL);
  const max = poolMax ?? DEFAULT_POOL_MAX.web;
  const pool = new ConnectionPool(plan, { max, maxWaitMs, open: connector.open }, log);
  const { laneFor } = plan;
  const shared = createSharedLanes(pool, laneFor.lists === 'lists', maxWaitMs);
  const isTransactionPooled = () => connector.access()?.pooler === 'transaction';
  const watch: Database['watch'] = options.watchesTransactions ? watchTransaction : (_isOpen, work) => work();
  let closed = false;

  const acquire = (lane: LaneName) => (closed ? Promise.reject(new Error(CLOSED)) : pool.acquire(lane));

  async function runExclusively<T>(lane: LaneName, work: (connection: PooledConnection) => Promise<T>): Promise<T> {
    const connection = await acquire(lane);
    try {
      return await work(connection);
    } finally {
      pool.release(lane, connection);
    }
  }

  /** Runs a statement in the lane that serves this kind: on a shared connection, or on one of its own. */
  function runIn<Row extends unknown[]>(kind: LaneName, sendable: Sendable, send: Send): Promise<Row[]> {
    const lane = shared.get(laneFor[kind]);
    if (lane !== undefined) return lane.query<Row>(sendable, send);
    const statement = typeof sendable === 'function' ? sendable() : sendable;
    return runExclusively(kind, (connection) => send(connection, statement)) as Promise<Row[]>;
  }

  const sendLimited: Send = (connection, statement) =>
    isTransactionPooled() ? connection.runLimited(statement, LIST_TIMEOUT_MS) : connection.run(statement);

  return {
    read: (statement) => runIn('reads', statement, sendPlain),
    readList: (statement) => runIn('lists', statement, sendLimited),
    readSlowly: (statement) => runIn('scans', statement, sendLimited),
    write: createWrite(
      runIn,
      (statements) => runExclusively('writes', (connection) => connection.runGroup(statements)),
      () => laneFor.writes === 'writes' && connector.access()?.pooler === 'none',
      onResult,
    ),
    transaction: createTransaction(
      acquire,
      (lane, connection, broken) => pool.release(lane, connection, broken),
      () => (isTransactionPooled() ? BEGIN_POOLED : 'begin'),
      watch,
    ),
    watch,
    withConnection: (work) =>
      runExclusively('transactions', (connection) => work({ write: (statement) => connection.run(statement) })),
    async holdConnection() {
      const connection = await acquire('cursors');
      return holdForCursor(connection, (broken) => pool.release('cursors', connection, broken));
    },
    resize: (size) => pool.resize(size),
    access: connector.access,
    stats() {
      const stats = pool.stats();
      for (const [lane, each] of shared) Object.assign(stats.lanes[lane]!, each.stats());
      return stats;
    },
    async close() {
      closed = true;
      await Promise.all([...shared.values()].map((lane) => lane.close()));
      await pool.close();
    },
    destroy() {
      closed = true;
      for (const lane of shared.values()) void lane.close();
      pool.destroy();
    },
  };
}
