import { AsyncLocalStorage } from 'node:async_hooks';
import { ApiError } from '../../helpers/errors.ts';
import type { PooledConnection, Statement } from './connection.ts';
import { type ConnectionPool, createWaitError } from './connection-pool.ts';
import { CLOSED } from './errors.ts';
import type { LaneName } from './lanes.ts';

/** A statement, or a function that creates it right before it is sent. */
export type Sendable = Statement | (() => Statement);

/** Runs the statements of a lane on connections that they share: they are sent without waiting for the results of earlier ones. */
export interface SharedLane {
  /** Runs a statement. Fails at once if the database cannot be reached. */
  query<Row extends unknown[]>(sendable: Sendable, send?: Send): Promise<Row[]>;
  /** The number of connections with running statements, and of statements that wait to be sent. */
  stats(): { busy: number; waiting: number; waitTimeouts: number };
  close(): Promise<void>;
}

/** Sends a statement on a connection. */
export type Send = (connection: PooledConnection, statement: Statement) => Promise<unknown[][]>;

/** The statements that may wait, on each connection of a lane. More would take longer than their callers wait. */
const MAX_WAITING = 1000;

/** Up to this number of statements, the results of those in front arrive soon enough. */
const GROUPED = 16;

interface Waiter {
  maxBytes: number;
  start: (connection: PooledConnection) => void;
  reject: (error: unknown) => void;
  timer: NodeJS.Timeout;
}

/** How many statements a lane sends without waiting for the results of earlier ones. */
export interface LaneDepth {
  /** The maximum number of statements without a result on one connection, whatever the size of their results. */
  always: number;
  /** The maximum number of statements without a result on one connection, as long as their results fit into `bytes`. */
  fitting: number;
  /** The maximum bytes of the results of all statements of the lane, approximately. */
  bytes: number;
}

/** A connection that has sent no result for this many ms is slow: what is sent behind its statement cannot be refused any more. */
const SLOW_MS = 50;

/** The maximum bytes of a statement's result: unknown if the statement is created when it is sent. */
const maxBytesOf = (sendable: Sendable) =>
  (typeof sendable === 'function' ? undefined : sendable.maxBytes) ?? Number.POSITIVE_INFINITY;
const resolveStatement = (sendable: Sendable) => (typeof sendable === 'function' ? sendable() : sendable);
/** Runs a statement without a transaction of its own. */
export const sendPlain: Send = (connection, statement) => connection.run(statement);

/**
 * Creates the shared connections of a lane. The lane keeps its first connection and gives the others back when they are idle. Use it for
 * statements that do not wait for locks or for the disk: each delays those behind it.
 *
 * @param depth how many statements may be without a result; further ones wait here
 * @param maxWaitMs how long a statement may wait to be sent
 */
export function createSharedLane(
  pool: ConnectionPool,
  name: LaneName,
  { depth, maxWaitMs }: { depth: LaneDepth; maxWaitMs: number },
): SharedLane {
  const { max, min } = pool.lane(name);
  let held: PooledConnection[] = [];
  const waiters = new Set<Waiter>();
  let requested = false;
  let waitTimeouts = 0;
  /** The maximum bytes of the results of statements that have been sent, as far as they are known. */
  let sentBytes = 0;
  /** How many statements that fit may be without a result: more while results arrive soon, few after a slow one. */
  let fitting = depth.always;
  /** When each connection had its last result. */
  const lastResults = new WeakMap<PooledConnection, number>();
  let closing: PromiseWithResolvers<void> | undefined;

  /** Whether a connection may get one more statement. */
  function hasRoom({ pending, maxPending }: PooledConnection, maxBytes: number): boolean {
    if (pending >= maxPending) return false;
    return pending < depth.always || (pending < fitting && sentBytes + maxBytes <= depth.bytes);
  }

  /** Gives back lost connections, and those without statements that the lane may not keep. */
  function releaseUnneeded(): void {
    const keep = closing === undefined ? Math.min(pool.keepable(name), Math.max(min, 1)) : 0;
    for (const connection of [...held].reverse()) {
      // In a shortage, releasing a connection makes the pool call this function again before `release` returns.
      if (!held.includes(connection)) continue;
      const isLost = connection.lost !== undefined;
      if (!isLost && (held.length <= keep || connection.pending > 0)) continue;
      held = held.filter((each) => each !== connection);
      pool.release(name, connection, isLost);
    }
    if (closing !== undefined && held.length === 0 && waiters.size === 0) closing.resolve();
  }

  /**
   * Returns a connection that has room for one more statement: the one to which statements of this turn already go, so that they leave in one
   * write, or else the one with the fewest.
   */
  function choose(maxBytes: number): PooledConnection | undefined {
    const usable = Math.min(held.length, pool.keepable(name));
    let best: PooledConnection | undefined;
    for (let i = 0; i < usable; i++) {
      const connection = held[i]!;
      if (connection.lost !== undefined) continue;
      if (connection.isCorked && connection.pending < GROUPED && hasRoom(connection, maxBytes)) return connection;
      if (best === undefined || connection.pending < best.pending) best = connection;
    }
    if (best === undefined || best.pending > 0) {
      const another = waiters.size === 0 && held.length < max ? pool.tryAcquire(name) : undefined;
      if (another !== undefined) {
        held.push(another);
        return another;
      }
    }
    return best !== undefined && hasRoom(best, maxBytes) ? best : undefined;
  }

  /** Sends waiting statements on a connection, even if another lane waits for it: each lane has its turn. */
  function sendWaiting(connection: PooledConnection): void {
    for (const waiter of waiters) {
      if (!hasRoom(connection, waiter.maxBytes)) break;
      waiters.delete(waiter);
      clearTimeout(waiter.timer);
      waiter.start(connection);
    }
  }

  function request(): void {
    if (requested || held.length >= max) return;
    requested = true;
    pool.acquire(name).then(
      (connection) => {
        requested = false;
        held.push(connection);
        sendWaiting(connection);
        settle();
      },
      (error: unknown) => {
        requested = false;
        // Other connections of the lane continue to serve the statements that wait.
        if (held.some(({ lost }) => lost === undefined)) return;
        for (const waiter of waiters) {
          waiters.delete(waiter);
          clearTimeout(waiter.timer);
          waiter.reject(error);
        }
        settle();
      },
    );
  }

  /** After a result: sends what waits, then gives back what the lane does not need. */
  function settle(): void {
    for (const { maxBytes } of waiters) {
      const connection = choose(maxBytes);
      if (connection === undefined) break;
      sendWaiting(connection);
    }
    // The usual case costs nothing: one connection, which the lane keeps.
    if (held.length !== 1 || closing !== undefined || held[0]!.lost !== undefined || pool.keepable(name) === 0)
      releaseUnneeded();
    if (waiters.size > 0) request();
  }

  async function sendOn(connection: PooledConnection, statement: Statement, send: Send): Promise<unknown[][]> {
    const { maxBytes = 0 } = statement;
    const sentAt = performance.now();
    sentBytes += maxBytes;
    try {
      connection.cork();
      return await send(connection, statement);
    } finally {
      const now = performance.now();
      const tookMs = now - Math.max(sentAt, lastResults.get(connection) ?? 0);
      fitting = tookMs > SLOW_MS ? depth.always : Math.min(fitting + 1, depth.fitting);
      lastResults.set(connection, now);
      sentBytes -= maxBytes;
      settle();
    }
  }

  function wait(sendable: Sendable, send: Send): Promise<unknown[][]> {
    // Refuse at once instead of keeping all callers waiting.
    if (waiters.size >= max * MAX_WAITING)
      return Promise.reject(new ApiError('UNAVAILABLE', undefined, { cause: createWaitError('too many reads wait') }));
    const { promise, resolve, reject } = Promise.withResolvers<unknown[][]>();
    const timer = setTimeout(() => {
      waiters.delete(waiter);
      waitTimeouts += 1;
      reject(createWaitError());
      settle();
    }, maxWaitMs);
    // Another caller's result starts the statement, but it belongs to the request of this caller.
    const start = AsyncLocalStorage.bind((connection: PooledConnection) => {
      try {
        resolve(sendOn(connection, resolveStatement(sendable), send));
      } catch (error) {
        reject(error);
      }
    });
    const waiter: Waiter = { maxBytes: maxBytesOf(sendable), start, reject, timer };
    waiters.add(waiter);
    request();
    return promise;
  }

  pool.onShortage(releaseUnneeded);

  return {
    async query<Row extends unknown[]>(sendable: Sendable, send = sendPlain) {
      if (closing !== undefined) throw new Error(CLOSED);
      if (held.some(({ lost }) => lost !== undefined)) releaseUnneeded();
      const connection = waiters.size === 0 ? choose(maxBytesOf(sendable)) : undefined;
      const result =
        connection === undefined ? wait(sendable, send) : sendOn(connection, resolveStatement(sendable), send);
      return (await result) as Row[];
    },
    stats: () => ({
      busy: held.filter(({ pending }) => pending > 0).length,
      waiting: waiters.size,
      waitTimeouts,
    }),
    async close() {
      closing ??= Promise.withResolvers<void>();
      releaseUnneeded();
      await closing.promise;
    },
  };
}
