import type { Logger } from '../../observability/log.ts';
import type { PooledConnection } from './connection.ts';
import { CLOSED } from './errors.ts';
import {
  type LaneBudget,
  type LaneLimits,
  type LaneName,
  type LanePlan,
  type LaneUse,
  mayTake,
  minimumOf,
} from './lanes.ts';

/** How many connections a lane uses. */
interface LaneStats {
  /** The maximum number of connections of the lane. */
  max: number;
  /** The connections that the lane uses now. */
  busy: number;
  /** The callers that wait for a connection now. */
  waiting: number;
  /** The number of callers since the start that timed out waiting for a connection. */
  waitTimeouts: number;
}

/** The connections of a pool: `open` includes those that are being opened or closed, and never exceeds `max`. */
export interface PoolStats {
  max: number;
  open: number;
  /** The open connections that no lane uses. */
  idle: number;
  /** The number of connections that could not be opened since the start. */
  failedOpens: number;
  /** By lane. With a small budget, lanes are merged; only those that exist are listed. */
  lanes: Partial<Record<LaneName, LaneStats>>;
}

interface Waiter {
  resolve: (connection: PooledConnection) => void;
  reject: (error: unknown) => void;
  since: number;
  timer: NodeJS.Timeout;
}

interface Lane extends LaneUse {
  // Unlike an array, a Set removes any element in constant time; it also keeps insertion order.
  waiters: Set<Waiter>;
  waitTimeouts: number;
}

/** Creates the error of a caller that waited too long, with the Postgres code for too many connections, which `isTransient` recognizes. */
export function createWaitError(text = 'no database connection became free in time'): Error {
  return Object.assign(new Error(text), { code: '53300' });
}

const TICK_MS = 1000;
const IDLE_TICKS = 30;
const REOPEN_MS = 5000;
const LOG_EVERY_MS = 60_000;

/** How a pool opens connections. */
interface PoolOptions {
  max: number;
  /** How long a caller waits for a connection. */
  maxWaitMs: number;
  /** Opens a connection whose statements have this time limit in ms. */
  open: (timeoutMs: number) => Promise<PooledConnection>;
}

const hasWaiters = ({ waiters }: Lane) => waiters.size > 0;
const firstWaiter = ({ waiters }: Lane) => waiters.values().next().value!;
const isUsable = ({ lost }: PooledConnection) => lost === undefined;

function settle(lane: Lane, waiter: Waiter): void {
  lane.waiters.delete(waiter);
  clearTimeout(waiter.timer);
}

/**
 * One budget of connections for all lanes: never more than `max`, counting those that are being opened or closed. Among lanes above their
 * minimum, the caller that has waited longest is served first. `mayTake` says what each lane may have.
 */
export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #log: Logger;
  readonly #lanes: readonly Lane[];
  /** The lane that serves each kind of use. */
  readonly #laneFor: ReadonlyMap<LaneName, Lane>;
  readonly #budget: LaneBudget;
  #max: number;
  /** Open connections that no lane uses, the most recently used last, with the time for which they have been idle. */
  readonly #idle: { connection: PooledConnection; ticks: number }[] = [];
  readonly #connections = new Set<PooledConnection>();
  /** Connections that are being closed because the budget became smaller. */
  readonly #surplus = new Set<PooledConnection>();
  /** Connections whose opening has begun and whose socket is not closed yet. */
  #slots = 0;
  #failedOpens = 0;
  #lastLogged = Number.NEGATIVE_INFINITY;
  #ended: PromiseWithResolvers<void> | undefined;
  #reopenTimer: NodeJS.Timeout | undefined;
  readonly #ticker: NodeJS.Timeout;
  readonly #shortageListeners: (() => void)[] = [];

  constructor({ lanes: limits, laneFor }: LanePlan, options: PoolOptions, log: Logger) {
    const lanes = limits.map((each): Lane => ({ ...each, busy: 0, opening: 0, waiters: new Set(), waitTimeouts: 0 }));
    const kinds = Object.entries(laneFor) as [LaneName, LaneName][];
    this.#lanes = lanes;
    this.#laneFor = new Map(kinds.map(([kind, lane]) => [kind, lanes.find(({ name }) => name === lane)!]));
    this.#budget = { lanes, guaranteed: lanes.reduce((sum, { min }) => sum + min, 0), limit: options.max };
    this.#options = options;
    this.#max = options.max;
    this.#log = log;
    this.#ticker = setInterval(() => this.#tick(), TICK_MS).unref();
  }

  /** The limits of the lane that serves a kind of use. */
  lane(name: LaneName): LaneLimits {
    return this.#laneFor.get(name)!;
  }

  /** Returns a free connection for a lane, or opens one; otherwise waits. Callers of a lane are served in order. */
  acquire(name: LaneName): Promise<PooledConnection> {
    if (this.#ended !== undefined) return Promise.reject(new Error(CLOSED));
    const connection = this.tryAcquire(name);
    if (connection !== undefined) return Promise.resolve(connection);
    const lane = this.#laneFor.get(name)!;
    const { promise, resolve, reject } = Promise.withResolvers<PooledConnection>();
    const timer = setTimeout(() => {
      lane.waiters.delete(waiter);
      lane.waitTimeouts += 1;
      reject(createWaitError());
      this.#endIfDone();
    }, this.#options.maxWaitMs);
    const waiter: Waiter = { resolve, reject, since: performance.now(), timer };
    lane.waiters.add(waiter);
    this.#dispatch();
    return promise;
  }

  /** Like `acquire`, but returns undefined if there is no free connection; then it may open one for later. */
  tryAcquire(name: LaneName): PooledConnection | undefined {
    const lane = this.#laneFor.get(name)!;
    if (lane.waiters.size > 0 || this.#ended !== undefined || !mayTake(lane, this.#budget)) return undefined;
    const connection = this.#takeIdle(lane);
    // Its first connection is opened for a caller that waits.
    if (connection === undefined && lane.busy > 0 && lane.opening === 0 && this.#canOpen()) void this.#openFor(lane);
    return connection;
  }

  /** Gives a connection back. A broken one is closed. */
  release(name: LaneName, connection: PooledConnection, broken = false): void {
    this.#laneFor.get(name)!.busy -= 1;
    if (broken || connection.lost !== undefined) connection.close();
    else this.#keepIdle(connection);
    this.#dispatch();
  }

  /** The number of connections that a lane may keep while callers of other lanes wait for one and cannot get it. */
  keepable(name: LaneName): number {
    const lane = this.#laneFor.get(name)!;
    for (const other of this.#lanes)
      if (other !== lane && hasWaiters(other) && !mayTake(other, this.#budget)) return minimumOf(lane, this.#budget);
    return lane.max;
  }

  /**
   * Registers a function that releases the connections that a lane keeps without using them. The pool calls it while callers wait and
   * Postgres refuses further connections.
   */
  onShortage(releaseUnused: () => void): void {
    this.#shortageListeners.push(releaseUnused);
  }

  /** Changes the maximum number of connections. Those beyond it are closed once their callers have released them. */
  resize(max: number): void {
    // While Postgres refuses further connections, a larger budget applies when the pool tries again.
    this.#budget.limit = this.#budget.limit < this.#max ? Math.min(this.#budget.limit, max) : max;
    this.#max = max;
    for (const { connection } of [...this.#idle]) this.#closeIfSurplus(connection);
    this.#dispatch();
  }

  stats(): PoolStats {
    const lanes = this.#lanes.map(({ name, max, busy, waiters, waitTimeouts }) => [
      name,
      { max: Math.min(max, this.#max), busy, waiting: waiters.size, waitTimeouts },
    ]);
    const [open, idle, failedOpens] = [this.#slots, this.#idle.length, this.#failedOpens];
    return { max: this.#max, open, idle, failedOpens, lanes: Object.fromEntries(lanes) };
  }

  /** Serves the callers that wait, then closes all connections. Later callers are refused. */
  close(): Promise<void> {
    this.#ended ??= Promise.withResolvers<void>();
    this.#endIfDone();
    return this.#ended.promise;
  }

  /** Ends all connections at once. Running statements, and callers that wait, fail. */
  destroy(): void {
    this.#ended ??= Promise.withResolvers<void>();
    this.#rejectWaiters(new Error(CLOSED));
    for (const connection of [...this.#connections]) connection.close(true);
    this.#endIfDone();
  }

  #canOpen(): boolean {
    return this.#slots < this.#budget.limit;
  }

  #tick(): void {
    for (const connection of this.#connections) connection.checkSilence(TICK_MS);
    for (const entry of [...this.#idle]) if (++entry.ticks > IDLE_TICKS) this.#closeIdle(entry.connection);
  }

  /** Takes an idle connection for a lane that may take one. Prefers opening one to changing the time limit of a session. */
  #takeIdle(lane: Lane): PooledConnection | undefined {
    let index = this.#idle.findLastIndex(
      ({ connection }) => isUsable(connection) && connection.timeoutMs === lane.timeoutMs,
    );
    if (index === -1 && !this.#canOpen()) index = this.#idle.findLastIndex(({ connection }) => isUsable(connection));
    if (index === -1) return undefined;
    const { connection } = this.#idle.splice(index, 1)[0]!;
    lane.busy += 1;
    connection.setTimeoutMs(lane.timeoutMs);
    return connection;
  }

  #keepIdle(connection: PooledConnection): void {
    if (!this.#closeIfSurplus(connection)) this.#idle.push({ connection, ticks: 0 });
  }

  #removeIdle(connection: PooledConnection): void {
    const index = this.#idle.findIndex((entry) => entry.connection === connection);
    if (index !== -1) this.#idle.splice(index, 1);
  }

  #closeIdle(connection: PooledConnection): void {
    this.#removeIdle(connection);
    connection.close();
  }

  /** Closes a connection that no lane uses if the budget has become smaller. */
  #closeIfSurplus(connection: PooledConnection): boolean {
    if (this.#slots - this.#surplus.size <= this.#max) return false;
    this.#surplus.add(connection);
    this.#closeIdle(connection);
    return true;
  }

  /** Gives connections to waiting callers, the longest wait first, and opens connections for those that have none yet. */
  #dispatch(): void {
    const candidates = new Set(this.#lanes.filter(hasWaiters));
    while (candidates.size > 0) {
      const lane = [...candidates].reduce((a, b) => (firstWaiter(b).since < firstWaiter(a).since ? b : a));
      const isAllowed = mayTake(lane, this.#budget);
      const connection = isAllowed ? this.#takeIdle(lane) : undefined;
      if (connection !== undefined) {
        const waiter = firstWaiter(lane);
        settle(lane, waiter);
        waiter.resolve(connection);
        if (!hasWaiters(lane)) candidates.delete(lane);
      } else if (isAllowed && lane.waiters.size > lane.opening && this.#canOpen()) {
        void this.#openFor(lane);
      } else {
        candidates.delete(lane);
      }
    }
    const { limit, guaranteed } = this.#budget;
    if (limit < guaranteed && this.#lanes.some(hasWaiters))
      for (const releaseUnused of this.#shortageListeners) releaseUnused();
    this.#endIfDone();
  }

  async #openFor(lane: Lane): Promise<void> {
    lane.opening += 1;
    this.#slots += 1;
    try {
      const connection = await this.#options.open(lane.timeoutMs);
      this.#connections.add(connection);
      void connection.closed.then(() => this.#forget(connection));
      lane.opening -= 1;
      if (isUsable(connection)) this.#keepIdle(connection);
    } catch (error) {
      lane.opening -= 1;
      this.#slots -= 1;
      this.#continueWithFewer(error);
    }
    this.#dispatch();
  }

  /** After the socket of a connection is closed. */
  #forget(connection: PooledConnection): void {
    this.#connections.delete(connection);
    this.#surplus.delete(connection);
    this.#slots -= 1;
    // Without any connection, none is left to continue with.
    if (this.#slots === 0) this.#budget.limit = this.#max;
    this.#removeIdle(connection);
    this.#dispatch();
  }

  /** After a failed opening: uses the connections that exist, and tries again later. Without a usable one, all callers fail. */
  #continueWithFewer(error: unknown): void {
    this.#failedOpens += 1;
    if (![...this.#connections].some(isUsable) && this.#lanes.every(({ opening }) => opening === 0)) {
      this.#budget.limit = this.#max;
      this.#rejectWaiters(error);
      return;
    }
    this.#budget.limit = this.#slots;
    if (performance.now() - this.#lastLogged > LOG_EVERY_MS) {
      this.#lastLogged = performance.now();
      this.#log.warn(
        { err: error, open: this.#slots, max: this.#max },
        'no further database connection could be opened; continuing with those that are open',
      );
    }
    clearTimeout(this.#reopenTimer);
    this.#reopenTimer = setTimeout(() => {
      this.#budget.limit = this.#max;
      this.#dispatch();
    }, REOPEN_MS).unref();
  }

  #rejectWaiters(error: unknown): void {
    for (const lane of this.#lanes) {
      for (const waiter of [...lane.waiters]) {
        settle(lane, waiter);
        waiter.reject(error);
      }
    }
  }

  #endIfDone(): void {
    if (this.#ended === undefined || this.#lanes.some(hasWaiters)) return;
    for (const { connection } of [...this.#idle]) this.#closeIdle(connection);
    if (this.#slots > 0) return;
    clearInterval(this.#ticker);
    clearTimeout(this.#reopenTimer);
    this.#ended.resolve();
  }
}
