import { STATEMENT_TIMEOUT_MS } from './session.ts';

/**
 * A kind of use of connections. Lanes cannot starve each other: each has a guaranteed minimum, and what remains of the
 * budget goes to the lane whose caller has waited longest.
 */
export type LaneName = 'reads' | 'lists' | 'scans' | 'writes' | 'transactions' | 'cursors';

/** The limits of one lane. */
export interface LaneLimits {
  name: LaneName;
  /** The number of connections that no other lane can take. */
  min: number;
  /** The maximum number of connections of the lane. */
  max: number;
  /** The time limit of a statement. */
  timeoutMs: number;
}

/** Clients can request any number of lists, so a slow one must end before it affects others. */
export const LIST_TIMEOUT_MS = 5000;
/** The minimum of POOL_MAX. */
export const MIN_CONNECTIONS = 2;

/**
 * The default of POOL_MAX by the role of the process; `web` may also run the other roles, and use more if there is room (`shareConnections`).
 * One process of each, without `job-worker`, and a migration fit into a server with 20 connections, 3 of which are reserved.
 */
export const DEFAULT_POOL_MAX = { web: 8, relay: 3, 'webhook-worker': 3, 'push-worker': 2, 'job-worker': 2 } as const;

/** The maximum without POOL_MAX: 2 for reads, 2 for lists, 4 for searches, and 20 for writes. More make a process hardly faster. */
export const MAX_SHARED_POOL = 28;
// One process of each other role, and a migration.
const KEPT_FOR_OTHERS = 11;
// Two releases may overlap, and one may get another process at any time.
const MIN_SHARES = 3;

/**
 * The connections of a `web` process without POOL_MAX: a share of those that the server allows.
 *
 * @param allowed the connections that the server allows
 * @param openElsewhere those that other programs have open, apart from `web` processes
 * @param webs the number of running `web` processes
 */
export function shareConnections(allowed: number, openElsewhere: number, webs: number): number {
  const share = Math.floor((allowed - Math.max(KEPT_FOR_OTHERS, openElsewhere)) / Math.max(MIN_SHARES, webs));
  return Math.min(MAX_SHARED_POOL, Math.max(DEFAULT_POOL_MAX.web, share));
}

// Two pipelined connections are enough for all reads, and 20 connections for writes use all that Postgres gains from group commit.
const LIMITS: readonly LaneLimits[] = [
  { name: 'reads', min: 1, max: 2, timeoutMs: STATEMENT_TIMEOUT_MS },
  { name: 'lists', min: 1, max: 2, timeoutMs: LIST_TIMEOUT_MS },
  { name: 'scans', min: 1, max: 4, timeoutMs: LIST_TIMEOUT_MS },
  { name: 'writes', min: 1, max: 20, timeoutMs: STATEMENT_TIMEOUT_MS },
  { name: 'transactions', min: 1, max: 20, timeoutMs: STATEMENT_TIMEOUT_MS },
  // A cursor may be held for minutes, so it must not count against the minimum of another lane.
  { name: 'cursors', min: 0, max: 2, timeoutMs: STATEMENT_TIMEOUT_MS },
];

/** With few connections, lanes share the connections of another one. Each entry applies to budgets below `below`. */
const MERGED: readonly { below: number; lane: LaneName; into: LaneName }[] = [
  { below: 6, lane: 'cursors', into: 'transactions' },
  { below: 5, lane: 'scans', into: 'lists' },
  { below: 4, lane: 'lists', into: 'reads' },
  // A transaction may wait for a statement outside of it, so the two never share.
  { below: 3, lane: 'writes', into: 'reads' },
];

/** The lanes of a budget, and the lane that serves each kind of use. */
export interface LanePlan {
  lanes: readonly LaneLimits[];
  laneFor: Readonly<Record<LaneName, LaneName>>;
}

/**
 * Divides a budget of connections among lanes.
 *
 * @throws RangeError if the budget is too small
 */
export function planLanes(budget: number): LanePlan {
  if (!Number.isInteger(budget) || budget < MIN_CONNECTIONS)
    throw new RangeError(`A pool needs ${MIN_CONNECTIONS} or more connections, not ${budget}`);
  const laneFor = Object.fromEntries(LIMITS.map(({ name }) => [name, name])) as Record<LaneName, LaneName>;
  const timeouts = new Map(LIMITS.map(({ name, timeoutMs }) => [name, timeoutMs]));
  for (const { below, lane, into } of MERGED) {
    if (budget >= below) continue;
    const both = [timeouts.get(into)!, timeouts.get(lane)!];
    timeouts.set(into, lane === 'writes' ? Math.max(...both) : Math.min(...both));
    for (const name of LIMITS.map((limits) => limits.name)) if (laneFor[name] === lane) laneFor[name] = into;
  }
  const lanes = LIMITS.filter(({ name }) => laneFor[name] === name).map((limits) => ({
    ...limits,
    max: Math.min(limits.max, budget),
    timeoutMs: timeouts.get(limits.name)!,
  }));
  return { lanes, laneFor };
}

/** The minimum of DATABASE_REPLICA_POOL_MAX: one connection for each lane. */
export const MIN_REPLICA_CONNECTIONS = 4;

/** Divides a budget of connections to a read replica among lanes: nothing is written there. */
export function planReplicaLanes(budget: number): LanePlan {
  const { lanes, laneFor } = planLanes(Math.max(budget, LIMITS.length));
  return {
    lanes: lanes
      .filter(({ name }) => name !== 'writes' && name !== 'transactions')
      .map((lane) => ({ ...lane, max: Math.min(lane.max, budget) })),
    laneFor: { ...laneFor, writes: 'reads', transactions: 'reads' },
  };
}

/** A lane and the connections that it uses. */
export interface LaneUse extends LaneLimits {
  busy: number;
  /** The connections that are being opened for its callers. */
  opening: number;
}

/** The connections that the lanes of a pool can have together. */
export interface LaneBudget {
  readonly lanes: readonly LaneUse[];
  /** The sum of the minimums of all lanes. */
  readonly guaranteed: number;
  /** Lower than the maximum of the pool while Postgres refuses further connections. */
  limit: number;
}

/** The minimum of a lane. While fewer connections can be had than the minimums need, no lane has one: the longest wait decides. */
export const minimumOf = (lane: LaneUse, { limit, guaranteed }: LaneBudget) => (limit >= guaranteed ? lane.min : 0);

/** While fewer connections can be had than the minimums need, scans, which are slow, leave two of them to all other lanes. */
const maximumOf = (lane: LaneUse, { limit, guaranteed }: LaneBudget) =>
  lane.name === 'scans' && limit < guaranteed ? Math.min(lane.max, Math.max(1, limit - 2)) : lane.max;

/**
 * Whether a lane may use one more connection. Beyond its minimum it gets one only if the unused minimums of all other lanes still fit into the
 * budget, so a lane below its minimum never waits for another lane.
 */
export function mayTake(lane: LaneUse, budget: LaneBudget): boolean {
  const used = lane.busy + lane.opening;
  if (used >= maximumOf(lane, budget)) return false;
  let taken = used;
  for (const each of budget.lanes)
    if (each !== lane) taken += Math.max(each.busy + each.opening, minimumOf(each, budget));
  return taken < budget.limit;
}
