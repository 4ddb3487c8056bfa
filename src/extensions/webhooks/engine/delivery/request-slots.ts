import type { Lane } from '../../endpoints/endpoint-jobs.ts';

/**
 * The purpose of a request: an endpoint of a lane; an endpoint in the fast lane that has not yet responded; or a delivery that a client
 * requested.
 */
export type SlotKind = Lane | 'untried' | 'requested';

/** Called with a slot. The caller must call `release` exactly once. */
type BeginWithSlot = (release: ReleaseSlot) => void;

/**
 * Gives a slot back.
 *
 * @param isGood true: the receiver responded well, so the slots may grow; false: they shrink; omitted: nothing was sent
 */
export type ReleaseSlot = (isGood?: boolean) => void;

/**
 * Limits the requests that a worker may have in flight. A user whose receivers hang occupies at most half of the slots for untried, slow
 * and requested deliveries, so that the deliveries of other users do not wait for them.
 */
export interface RequestSlots {
  /**
   * Calls `begin` as soon as a slot of the kind is free for the owner, possibly synchronously. The calls of an owner get their slots in
   * order; owners that wait for slots of the same kind take turns.
   */
  acquire(kind: SlotKind, owner: string, begin: BeginWithSlot): void;
  /** Whether a call of `acquire` would have to wait. */
  isFull(kind: SlotKind, owner: string): boolean;
  /** Whether a call of `acquire` would have to wait because the owner has reached its limit or already waits. */
  isOwnerAtLimit(kind: SlotKind, owner: string): boolean;
  /** How many requests of a kind may be in flight now. */
  countSlots(kind: SlotKind): number;
}

/** Maximum numbers of concurrent requests. */
interface SlotLimits {
  slow: number;
  untried: number;
  slowOrUntried: number;
  requested: number;
}

/** Returns the limits of a number of slots. Each kind has at least one slot. */
export function computeSlotLimits(size: number): SlotLimits {
  const half = Math.max(1, Math.floor(size / 2));
  return {
    slow: half,
    untried: half,
    slowOrUntried: Math.max(1, size - Math.max(1, Math.ceil(half / 2))),
    requested: Math.max(1, Math.floor(size / 4)),
  };
}

interface WaitingOwner {
  calls: Set<{ begin: BeginWithSlot }>;
  slotsInARow: number;
}

/** The waiting calls of each owner, and how many slots the owner just got in a row. Owners and calls in their order. */
type WaitingQueue = Map<string, WaitingOwner>;

const createWaitingQueues = (): Record<SlotKind, WaitingQueue> => ({
  fast: new Map(),
  untried: new Map(),
  slow: new Map(),
  requested: new Map(),
});

/** Takes the first call of the first owner that need not wait. @param maxInARow how many slots an owner gets before the next owner */
function takeNextCall(
  waiting: WaitingQueue,
  mustWait: (owner: string) => boolean,
  maxInARow: number,
): { owner: string; begin: BeginWithSlot } | undefined {
  for (const [owner, entry] of waiting) {
    if (mustWait(owner)) continue;
    const [first] = entry.calls;
    entry.calls.delete(first!);
    entry.slotsInARow += 1;
    if (entry.calls.size === 0) waiting.delete(owner);
    else if (entry.slotsInARow >= maxInARow) {
      // The owner goes to the end of the queue.
      waiting.delete(owner);
      waiting.set(owner, { calls: entry.calls, slotsInARow: 0 });
    }
    return { owner, begin: first!.begin };
  }
  return undefined;
}

/** Slots that are limited together. */
interface SlotPool {
  isFull(): boolean;
  /** Whether the owner has as many slots as one owner may have. */
  isOwnerFull(owner: string): boolean;
  add(owner: string): void;
  remove(owner: string): void;
}

/** @param getMaxPerOwner returns how many of the slots one owner may have */
function createSlotPool(getSize: () => number, getMaxPerOwner: (size: number) => number) {
  const usedByOwner = new Map<string, number>();
  let used = 0;
  const countSlotsOf = (owner: string) => usedByOwner.get(owner) ?? 0;
  return {
    countUsed: () => used,
    countSlotsOf,
    isFull: () => used >= getSize(),
    isOwnerFull: (owner: string) => countSlotsOf(owner) >= getMaxPerOwner(getSize()),
    add(owner: string) {
      used += 1;
      usedByOwner.set(owner, countSlotsOf(owner) + 1);
    },
    remove(owner: string) {
      used -= 1;
      if (countSlotsOf(owner) === 1) usedByOwner.delete(owner);
      else usedByOwner.set(owner, countSlotsOf(owner) - 1);
    },
  };
}

/** Creates a pool of which one owner may have half, rounded up. */
const createSharedPool = (getSize: () => number) => createSlotPool(getSize, (size) => Math.ceil(size / 2));

/** The slots that an owner may have although all others are used, while the slots have not grown to their maximum. */
const RESERVED_PER_OWNER = 4;

/**
 * Counts the slots, which grow from `size` and `limits` to `max`. `gained`: by how many slots each kind has grown; `canGrow`: whether a kind has not
 * reached its maximum.
 */
function createSlotCounts(size: number, limits: SlotLimits, max: { size: number; limits: SlotLimits }) {
  const gained: Record<SlotKind, number> = { fast: 0, untried: 0, slow: 0, requested: 0 };
  const maxGain: Record<SlotKind, number> = {
    fast: max.size - size,
    untried: max.limits.untried - limits.untried,
    slow: max.limits.slow - limits.slow,
    requested: max.limits.requested - limits.requested,
  };
  const countAll = () => Math.min(max.size, size + gained.fast + gained.untried + gained.slow + gained.requested);
  const countOf = (kind: 'untried' | 'slow' | 'requested') => Math.min(max.limits[kind], limits[kind] + gained[kind]);
  const countSlowOrUntried = () =>
    Math.min(max.limits.slowOrUntried, limits.slowOrUntried + gained.slow + gained.untried);
  const canGrow = (kind: SlotKind) => gained[kind] < maxGain[kind];
  return { gained, canGrow, countAll, countOf, countSlowOrUntried };
}

/** Creates the pools of each kind, and the pool of all slots. */
function createPools(
  size: number,
  maxSize: number,
  { countOf, countSlowOrUntried }: Pick<ReturnType<typeof createSlotCounts>, 'countOf' | 'countSlowOrUntried'>,
) {
  const maxPerOwner = maxSize > size ? Math.ceil((maxSize * 3) / 4) : maxSize;
  const common = createSlotPool(
    () => maxSize,
    () => maxPerOwner,
  );
  const slowOrUntried = createSharedPool(countSlowOrUntried);
  const pools: Record<SlotKind, readonly SlotPool[]> = {
    fast: [common],
    slow: [common, createSharedPool(() => countOf('slow')), slowOrUntried],
    untried: [common, createSharedPool(() => countOf('untried')), slowOrUntried],
    requested: [common, createSharedPool(() => countOf('requested'))],
  };
  return { common, pools };
}

/**
 * Creates slots. If they may grow, a kind for which calls wait gets one more slot with each good response, and loses one with each bad
 * response. So receivers that hang do not get more slots, however many of their deliveries wait. While the slots have not grown to their
 * maximum, owners with few slots may exceed the number of slots, and no owner ever has more than three quarters of the maximum.
 *
 * @param size number of concurrent requests
 * @param limits numbers for the slow lane, for untried endpoints, for both together, and for requested deliveries. However many
 *   receivers hang, the other slots stay free for healthy endpoints.
 * @param max the numbers to which the slots may grow; left out: they do not grow
 * @param mayGrow whether this process can cope with more requests now
 */
export function createRequestSlots(
  size: number,
  limits: SlotLimits,
  max: { size: number; limits: SlotLimits } = { size, limits },
  mayGrow: () => boolean = () => true,
): RequestSlots {
  const { gained, canGrow, countAll, countOf, countSlowOrUntried } = createSlotCounts(size, limits, max);
  const { common, pools } = createPools(size, max.size, { countOf, countSlowOrUntried });
  const waiting = createWaitingQueues();
  // In the fast lane as many as one endpoint may have, because deliveries that begin together are checked in one query. One elsewhere,
  // because those slots may stay occupied for long.
  const getMaxInARow = (kind: SlotKind) => (kind === 'fast' ? Math.ceil(countAll() / 2) : 1);
  // Under full load the kinds alternate, so that none of them starves.
  const kindOrder: SlotKind[] = ['fast', 'untried', 'slow'];
  let admitting = false;

  const isKindFull = (kind: SlotKind) => pools[kind].some((pool) => pool.isFull());
  const isOwnerFull = (kind: SlotKind, owner: string) => pools[kind].some((pool) => pool.isOwnerFull(owner));
  /** Whether all slots are used, except those that only owners with few slots may have. */
  const areCommonSlotsUsed = () => common.countUsed() >= countAll();
  const mustWait = (kind: SlotKind, owner: string) =>
    isOwnerFull(kind, owner) || (areCommonSlotsUsed() && common.countSlotsOf(owner) >= RESERVED_PER_OWNER);
  const isFull = (kind: SlotKind, owner: string) =>
    admitting || waiting[kind].has(owner) || isKindFull(kind) || mustWait(kind, owner);

  function occupySlot(kind: SlotKind, owner: string, begin: BeginWithSlot): void {
    for (const pool of pools[kind]) pool.add(owner);
    begin((isGood) => release(kind, owner, isGood));
  }

  function admitWaitingOwner(kind: SlotKind): boolean {
    if (isKindFull(kind)) return false;
    const next = takeNextCall(waiting[kind], (owner) => mustWait(kind, owner), getMaxInARow(kind));
    if (next === undefined) return false;
    occupySlot(kind, next.owner, next.begin);
    return true;
  }

  function admitNextKind(): boolean {
    if (admitWaitingOwner('requested')) return true;
    const admitted = kindOrder.find(admitWaitingOwner);
    if (admitted === undefined) return false;
    kindOrder.push(...kindOrder.splice(kindOrder.indexOf(admitted), 1));
    return true;
  }

  /** Whether a good response shows that calls wait only for lack of slots: calls of its owner, or of any owner if all slots are used. */
  function needsMore(kind: SlotKind, owner: string): boolean {
    return waiting[kind].has(owner) || (waiting[kind].size > 0 && (isKindFull(kind) || areCommonSlotsUsed()));
  }

  function release(kind: SlotKind, owner: string, isGood?: boolean): void {
    if (isGood === false) gained[kind] = Math.max(0, gained[kind] - 1);
    else if (isGood && canGrow(kind) && needsMore(kind, owner) && mayGrow()) gained[kind] += 1;
    for (const pool of pools[kind]) pool.remove(owner);
    // A call may release its slot at once. Loop instead of recursing for each such call.
    if (admitting) return;
    admitting = true;
    try {
      while (admitNextKind());
    } finally {
      admitting = false;
    }
  }

  return {
    acquire(kind, owner, begin) {
      if (!isFull(kind, owner)) {
        occupySlot(kind, owner, begin);
        return;
      }
      const entry = waiting[kind].get(owner) ?? { calls: new Set(), slotsInARow: 0 };
      entry.calls.add({ begin });
      waiting[kind].set(owner, entry);
    },
    isFull,
    isOwnerAtLimit: (kind, owner) => waiting[kind].has(owner) || isOwnerFull(kind, owner),
    countSlots: (kind) => (kind === 'fast' ? countAll() : countOf(kind)),
  };
}
