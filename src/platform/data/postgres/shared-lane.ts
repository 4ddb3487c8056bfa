import { AsyncLocalStorage } from 'node:async_hooks';
import { ApiError } from '../../helpers/errors.ts';
import type { PooledConnection, Statement } from './connection.ts';
import { type ConnectionPool, createWaitError } from './connection-pool.ts';
import { CLOSED } from './errors.ts';
import type { LaneLimits, LaneName } from './lanes.ts';

/** A statement, or a function that creates it right before it is sent. */
export type Sendable = Statement | (() => Statement);

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
const isLost = ({ lost }: PooledConnection) => lost !== undefined;
/** Runs a statement without a transaction of its own. */
export const sendPlain: Send = (connection, statement) => connection.run(statement);

/**
 * Runs the statements of a lane on connections that they share: they are sent without waiting for the results of earlier ones. The lane keeps
 * its first connection and gives the others back when they are idle. Use it for statements that do not wait for locks or for the disk: each
 * delays those behind it.
 */
export class SharedLane {
  readonly #pool: ConnectionPool;
  readonly #limits: LaneLimits;
  readonly #depth: LaneDepth;
  readonly #maxWaitMs: number;
  #held: PooledConnection[] = [];
  readonly #waiters = new Set<Waiter>();
  #requested = false;
  #waitTimeouts = 0;
  /** The maximum bytes of the results of statements that have been sent, as far as they are known. */
  #sentBytes = 0;
  /** How many statements that fit may be without a result: more while results arrive soon, few after a slow one. */
  #fitting: number;
  /** When each connection had its last result. */
  readonly #lastResults = new WeakMap<PooledConnection, number>();
  #closing: PromiseWithResolvers<void> | undefined;

  /**
   * @param depth how many statements may be without a result; further ones wait here
   * @param maxWaitMs how long a statement may wait to be sent
   */
  constructor(pool: ConnectionPool, name: LaneName, { depth, maxWaitMs }: { depth: LaneDepth; maxWaitMs: number }) {
    this.#pool = pool;
    this.#limits = pool.lane(name);
    this.#depth = depth;
    this.#fitting = depth.always;
    this.#maxWaitMs = maxWaitMs;
    pool.onShortage(() => this.#releaseUnneeded());
  }

  /** Runs a statement. Fails at once if the database cannot be reached. */
  async query<Row extends unknown[]>(sendable: Sendable, send = sendPlain): Promise<Row[]> {
    if (this.#closing !== undefined) throw new Error(CLOSED);
    if (this.#held.some(isLost)) this.#releaseUnneeded();
    const connection = this.#waiters.size === 0 ? this.#choose(maxBytesOf(sendable)) : undefined;
    const result =
      connection === undefined
        ? this.#wait(sendable, send)
        : this.#sendOn(connection, resolveStatement(sendable), send);
    return (await result) as Row[];
  }

  /** The number of connections with running statements, and of statements that wait to be sent. */
  stats(): { busy: number; waiting: number; waitTimeouts: number } {
    const busy = this.#held.filter(({ pending }) => pending > 0).length;
    return { busy, waiting: this.#waiters.size, waitTimeouts: this.#waitTimeouts };
  }

  /** Refuses later statements, and gives the connections back once the earlier ones have their results. */
  close(): Promise<void> {
    this.#closing ??= Promise.withResolvers<void>();
    this.#releaseUnneeded();
    return this.#closing.promise;
  }

  /** Whether a connection may get one more statement. */
  #hasRoom({ pending, maxPending }: PooledConnection, maxBytes: number): boolean {
    if (pending >= maxPending) return false;
    const { always, bytes } = this.#depth;
    return pending < always || (pending < this.#fitting && this.#sentBytes + maxBytes <= bytes);
  }

  /** Gives back lost connections, and those without statements that the lane may not keep. */
  #releaseUnneeded(): void {
    const isOpen = this.#closing === undefined;
    const keep = isOpen ? Math.min(this.#pool.keepable(this.#limits.name), Math.max(this.#limits.min, 1)) : 0;
    for (const connection of [...this.#held].reverse()) {
      // In a shortage, releasing a connection makes the pool call this function again before `release` returns.
      if (!this.#held.includes(connection)) continue;
      const broken = isLost(connection);
      if (!broken && (this.#held.length <= keep || connection.pending > 0)) continue;
      this.#held = this.#held.filter((each) => each !== connection);
      this.#pool.release(this.#limits.name, connection, broken);
    }
    if (this.#held.length === 0 && this.#waiters.size === 0) this.#closing?.resolve();
  }

  /**
   * Returns a connection that has room for one more statement: the one to which statements of this turn already go, so that they leave in one
   * write, or else the one with the fewest.
   */
  #choose(maxBytes: number): PooledConnection | undefined {
    const held = this.#held;
    const usable = Math.min(held.length, this.#pool.keepable(this.#limits.name));
    let best: PooledConnection | undefined;
    for (let i = 0; i < usable; i++) {
      const connection = held[i]!;
      if (isLost(connection)) continue;
      if (connection.isCorked && connection.pending < GROUPED && this.#hasRoom(connection, maxBytes)) return connection;
      if (best === undefined || connection.pending < best.pending) best = connection;
    }
    if ((best === undefined || best.pending > 0) && this.#waiters.size === 0 && held.length < this.#limits.max) {
      const another = this.#pool.tryAcquire(this.#limits.name);
      if (another !== undefined) {
        held.push(another);
        return another;
      }
    }
    return best !== undefined && this.#hasRoom(best, maxBytes) ? best : undefined;
  }

  /** Sends waiting statements on a connection, even if another lane waits for it: each lane has its turn. */
  #sendWaiting(connection: PooledConnection): void {
    for (const waiter of this.#waiters) {
      if (!this.#hasRoom(connection, waiter.maxBytes)) break;
      this.#endWait(waiter);
      waiter.start(connection);
    }
  }

  #endWait(waiter: Waiter): void {
    this.#waiters.delete(waiter);
    clearTimeout(waiter.timer);
  }

  #request(): void {
    if (this.#requested || this.#held.length >= this.#limits.max) return;
    this.#requested = true;
    this.#pool.acquire(this.#limits.name).then(
      (connection) => {
        this.#requested = false;
        this.#held.push(connection);
        this.#sendWaiting(connection);
        this.#settle();
      },
      (error: unknown) => {
        this.#requested = false;
        // Other connections of the lane continue to serve the statements that wait.
        if (!this.#held.every(isLost)) return;
        for (const waiter of this.#waiters) {
          this.#endWait(waiter);
          waiter.reject(error);
        }
        this.#settle();
      },
    );
  }

  /** After a result: sends what waits, then gives back what the lane does not need. */
  #settle(): void {
    for (const { maxBytes } of this.#waiters) {
      const connection = this.#choose(maxBytes);
      if (connection === undefined) break;
      this.#sendWaiting(connection);
    }
    // The usual case costs nothing: one connection, which the lane keeps.
    const held = this.#held;
    if (
      held.length !== 1 ||
      this.#closing !== undefined ||
      isLost(held[0]!) ||
      this.#pool.keepable(this.#limits.name) === 0
    )
      this.#releaseUnneeded();
    if (this.#waiters.size > 0) this.#request();
  }

  async #sendOn(connection: PooledConnection, statement: Statement, send: Send): Promise<unknown[][]> {
    const { maxBytes = 0 } = statement;
    const sentAt = performance.now();
    this.#sentBytes += maxBytes;
    try {
      connection.cork();
      return await send(connection, statement);
    } finally {
      const now = performance.now();
      const tookMs = now - Math.max(sentAt, this.#lastResults.get(connection) ?? 0);
      this.#fitting = tookMs > SLOW_MS ? this.#depth.always : Math.min(this.#fitting + 1, this.#depth.fitting);
      this.#lastResults.set(connection, now);
      this.#sentBytes -= maxBytes;
      this.#settle();
    }
  }

  #wait(sendable: Sendable, send: Send): Promise<unknown[][]> {
    // Refuse at once instead of keeping all callers waiting.
    if (this.#waiters.size >= this.#limits.max * MAX_WAITING)
      return Promise.reject(new ApiError('UNAVAILABLE', undefined, { cause: createWaitError('too many reads wait') }));
    const { promise, resolve, reject } = Promise.withResolvers<unknown[][]>();
    const timer = setTimeout(() => {
      this.#waiters.delete(waiter);
      this.#waitTimeouts += 1;
      reject(createWaitError());
      this.#settle();
    }, this.#maxWaitMs);
    // Another caller's result starts the statement, but it belongs to the request of this caller.
    const start = AsyncLocalStorage.bind((connection: PooledConnection) => {
      try {
        resolve(this.#sendOn(connection, resolveStatement(sendable), send));
      } catch (error) {
        reject(error);
      }
    });
    const waiter: Waiter = { maxBytes: maxBytesOf(sendable), start, reject, timer };
    this.#waiters.add(waiter);
    this.#request();
    return promise;
  }
}
