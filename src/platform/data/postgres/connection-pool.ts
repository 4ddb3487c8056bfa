import type { Logger } from '../../observability/log.ts';
import type { PooledConnection } from './connection.ts';
import { CLOSED } from './errors.ts';
import type { LaneLimits, LaneName, LanePlan } from './lanes.ts';

/** How many connections a lane uses. */
export interface LaneStats {
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

/** One budget of connections for all lanes. */
export interface ConnectionPool {
  /** The limits of the lane that serves a kind of use. */
  lane(name: LaneName): LaneLimits;
  /** Returns a free connection for a lane, or opens one; otherwise waits. Callers of a lane are served in order. */
  acquire(lane: LaneName): Promise<PooledConnection>;
  /** Like `acquire`, but returns undefined if there is no free connection; then it may open one for later. */
  tryAcquire(lane: LaneName): PooledConnection | undefined;
  /** Gives a connection back. A broken one is closed. */
  release(lane: LaneName, connection: PooledConnection, broken?: boolean): void;
  /** The number of connections that a lane may keep while callers of other lanes wait for one and cannot get it. */
  keepable(lane: LaneName): number;
  /**
   * Registers a function that releases the connections that a lane keeps without using them. The pool calls it while callers wait and
   * Postgres refuses further connections.
   */
  onShortage(releaseUnused: () => void): void;
  /** Changes the maximum number of connections. Those beyond it are closed once their callers have released them. */
  resize(max: number): void;
  stats(): PoolStats;
  /** Serves the callers that wait, then closes all connections. Later callers are refused. */
  close(): Promise<void>;
  /** Ends all connections at once. Running statements, and callers that wait, fail. */
  destroy(): void;
}

interface Waiter {
  resolve: (connection: PooledConnection) => void;
  reject: (error: unknown) => void;
  since: number;
  timer: NodeJS.Timeout;
}

interface Lane extends LaneLimits {
  busy: number;
  opening: number;
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

/**
 * Creates a pool that never has more than `max` connections, counting those that are being opened or closed.
 *
 * A lane gets a connection beyond its minimum only if the unused minimums of all other lanes still fit into the budget, so a lane below
 * its minimum never waits for another lane. Among lanes above their minimum, the caller that has waited longest is served first.
 *
 * @param open opens a connection whose statements have this time limit in ms
 */
export function createConnectionPool(
  { lanes: limits, laneFor }: LanePlan,
  options: { max: number; maxWaitMs: number; open: (timeoutMs: number) => Promise<PooledConnection> },
  log: Logger,
): ConnectionPool {
  const { maxWaitMs, open } = options;
  let { max } = options;
  const lanes: Lane[] = limits.map((each) => ({ ...each, busy: 0, opening: 0, waiters: new Set(), waitTimeouts: 0 }));
  const laneByName = new Map(lanes.map((lane) => [lane.name, lane]));
  const findLane = (name: LaneName): Lane => laneByName.get(laneFor[name])!;
  const guaranteed = lanes.reduce((sum, { min }) => sum + min, 0);
  /** Open connections that no lane uses, the most recently used last, with the time for which they have been idle. */
  const idle: { connection: PooledConnection; ticks: number }[] = [];
  const connections = new Set<PooledConnection>();
  /** Connections that are being closed because the budget became smaller. */
  const surplus = new Set<PooledConnection>();
  /** Connections whose opening has begun and whose socket is not closed yet. */
  let slots = 0;
  /** The current budget: lower than `max` while Postgres refuses further connections. */
  let limit = max;
  let failedOpens = 0;
  let lastLogged = Number.NEGATIVE_INFINITY;
  let ended: PromiseWithResolvers<void> | undefined;
  let reopenTimer: NodeJS.Timeout | undefined;
  const shortageListeners: (() => void)[] = [];

  const ticker = setInterval(() => {
    for (const connection of connections) connection.checkSilence(TICK_MS);
    for (const entry of [...idle]) if (++entry.ticks > IDLE_TICKS) closeIdle(entry.connection);
  }, TICK_MS);
  ticker.unref();

  const used = (lane: Lane) => lane.busy + lane.opening;
  /** While fewer connections can be had than the minimums need, no lane has a minimum: the longest wait decides. */
  const minimum = (lane: Lane) => (limit >= guaranteed ? lane.min : 0);

  /** While fewer connections can be had than the minimums need, scans, which are slow, leave two of them to all other lanes. */
  const maximum = (lane: Lane) =>
    lane.name === 'scans' && limit < guaranteed ? Math.min(lane.max, Math.max(1, limit - 2)) : lane.max;

  /** Whether a lane may use one more connection. */
  function mayTake(lane: Lane): boolean {
    if (used(lane) >= maximum(lane)) return false;
    let taken = 0;
    for (const each of lanes) taken += each === lane ? used(each) : Math.max(used(each), minimum(each));
    return taken < limit;
  }

  function removeIdle(index: number): PooledConnection {
    return idle.splice(index, 1)[0]!.connection;
  }

  /** Returns an idle connection; with `matching`, only one with the time limit of the lane. */
  function findIdle(lane: Lane, matching: boolean): PooledConnection | undefined {
    const index = idle.findLastIndex(
      ({ connection: { lost, timeoutMs } }) => lost === undefined && (!matching || timeoutMs === lane.timeoutMs),
    );
    return index === -1 ? undefined : removeIdle(index);
  }

  function closeIdle(connection: PooledConnection): void {
    const index = idle.findIndex((entry) => entry.connection === connection);
    if (index !== -1) removeIdle(index);
    connection.close();
  }

  /** Takes an idle connection for a lane that may take one. Prefers opening one to changing the time limit of a session. */
  function takeIdle(lane: Lane): PooledConnection | undefined {
    const canOpen = slots < limit;
    const connection = findIdle(lane, true) ?? (canOpen ? undefined : findIdle(lane, false));
    if (connection === undefined) return undefined;
    lane.busy += 1;
    connection.setTimeoutMs(lane.timeoutMs);
    return connection;
  }

  /** Closes a connection that no lane uses if the budget has become smaller. */
  function closeIfSurplus(connection: PooledConnection): boolean {
    if (slots - surplus.size <= max) return false;
    surplus.add(connection);
    closeIdle(connection);
    return true;
  }

  function settle(lane: Lane, waiter: Waiter): void {
    lane.waiters.delete(waiter);
    clearTimeout(waiter.timer);
  }

  const hasWaiters = (lane: Lane) => lane.waiters.size > 0;
  const firstWaiter = (lane: Lane): Waiter | undefined => lane.waiters.values().next().value;

  /** Gives connections to waiting callers, the longest wait first, and opens connections for those that have none yet. */
  function dispatch(): void {
    const candidates = new Set(lanes.filter(hasWaiters));
    while (candidates.size > 0) {
      const lane = [...candidates].reduce((a, b) => (firstWaiter(b)!.since < firstWaiter(a)!.since ? b : a));
      const connection = mayTake(lane) ? takeIdle(lane) : undefined;
      if (connection !== undefined) {
        const waiter = firstWaiter(lane)!;
        settle(lane, waiter);
        waiter.resolve(connection);
        if (lane.waiters.size === 0) candidates.delete(lane);
      } else if (lane.waiters.size > lane.opening && mayTake(lane) && slots < limit) {
        void openFor(lane);
      } else {
        candidates.delete(lane);
      }
    }
    if (limit < guaranteed && lanes.some(hasWaiters)) for (const releaseUnused of shortageListeners) releaseUnused();
    if (ended !== undefined) endIfDone();
  }

  async function openFor(lane: Lane): Promise<void> {
    lane.opening += 1;
    slots += 1;
    try {
      const connection = await open(lane.timeoutMs);
      connections.add(connection);
      void connection.closed.then(() => {
        connections.delete(connection);
        surplus.delete(connection);
        slots -= 1;
        // Without any connection, none is left to continue with.
        if (slots === 0) limit = max;
        const index = idle.findIndex((entry) => entry.connection === connection);
        if (index !== -1) removeIdle(index);
        dispatch();
      });
      lane.opening -= 1;
      if (connection.lost === undefined && !closeIfSurplus(connection)) idle.push({ connection, ticks: 0 });
    } catch (error) {
      lane.opening -= 1;
      slots -= 1;
      continueWithFewer(error);
    }
    dispatch();
  }

  /** After a failed opening: uses the connections that exist, and tries again later. Without a usable one, all callers fail. */
  function continueWithFewer(error: unknown): void {
    failedOpens += 1;
    const isUsable = ({ lost }: PooledConnection) => lost === undefined;
    if (![...connections].some(isUsable) && lanes.every(({ opening }) => opening === 0)) {
      limit = max;
      for (const lane of lanes) {
        for (const waiter of [...lane.waiters]) {
          settle(lane, waiter);
          waiter.reject(error);
        }
      }
      return;
    }
    limit = slots;
    if (performance.now() - lastLogged > LOG_EVERY_MS) {
      lastLogged = performance.now();
      log.warn(
        { err: error, open: slots, max },
        'no further database connection could be opened; continuing with those that are open',
      );
    }
    clearTimeout(reopenTimer);
    reopenTimer = setTimeout(() => {
      limit = max;
      dispatch();
    }, REOPEN_MS);
    reopenTimer.unref();
  }

  function endIfDone(): void {
    if (lanes.some(hasWaiters)) return;
    for (const { connection } of [...idle]) closeIdle(connection);
    if (slots > 0) return;
    clearInterval(ticker);
    clearTimeout(reopenTimer);
    ended?.resolve();
  }

  function tryAcquire(name: LaneName): PooledConnection | undefined {
    const lane = findLane(name);
    if (lane.waiters.size > 0 || ended !== undefined || !mayTake(lane)) return undefined;
    const connection = takeIdle(lane);
    // Its first connection is opened for a caller that waits.
    if (connection === undefined && lane.busy > 0 && lane.opening === 0 && slots < limit) void openFor(lane);
    return connection;
  }

  return {
    lane: findLane,
    tryAcquire,
    acquire(name) {
      if (ended !== undefined) return Promise.reject(new Error(CLOSED));
      const connection = tryAcquire(name);
      if (connection !== undefined) return Promise.resolve(connection);
      const lane = findLane(name);
      const { promise, resolve, reject } = Promise.withResolvers<PooledConnection>();
      const timer = setTimeout(() => {
        lane.waiters.delete(waiter);
        lane.waitTimeouts += 1;
        reject(createWaitError());
        if (ended !== undefined) endIfDone();
      }, maxWaitMs);
      const waiter: Waiter = { resolve, reject, since: performance.now(), timer };
      lane.waiters.add(waiter);
      dispatch();
      return promise;
    },
    release(name, connection, broken = false) {
      findLane(name).busy -= 1;
      if (broken || connection.lost !== undefined) connection.close();
      else if (!closeIfSurplus(connection)) idle.push({ connection, ticks: 0 });
      dispatch();
    },
    keepable(name) {
      const lane = findLane(name);
      const isWaitedFor = lanes.some((other) => other !== lane && hasWaiters(other) && !mayTake(other));
      return isWaitedFor ? minimum(lane) : lane.max;
    },
    onShortage(releaseUnused) {
      shortageListeners.push(releaseUnused);
    },
    resize(size) {
      // While Postgres refuses further connections, a larger budget applies when the pool tries again.
      limit = limit < max ? Math.min(limit, size) : size;
      max = size;
      for (const { connection } of [...idle]) closeIfSurplus(connection);
      dispatch();
    },
    stats() {
      const laneStats = lanes.map(({ name, max: laneMax, busy, waiters, waitTimeouts }) => [
        name,
        { max: Math.min(laneMax, max), busy, waiting: waiters.size, waitTimeouts },
      ]);
      return { max, open: slots, idle: idle.length, failedOpens, lanes: Object.fromEntries(laneStats) };
    },
    async close() {
      ended ??= Promise.withResolvers<void>();
      endIfDone();
      await ended.promise;
    },
    destroy() {
      ended ??= Promise.withResolvers<void>();
      for (const lane of lanes) {
        for (const waiter of [...lane.waiters]) {
          settle(lane, waiter);
          waiter.reject(new Error(CLOSED));
        }
      }
      for (const connection of [...connections]) connection.close(true);
      endIfDone();
    },
  };
}
