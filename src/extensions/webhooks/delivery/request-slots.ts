import type { Lane } from './endpoint-jobs.ts';

/**
 * The purpose of a request: an endpoint of a lane; an endpoint in the fast lane that has not yet responded; or a delivery that a client
 * requested.
 */
export type SlotKind = Lane | 'untried' | 'requested';

/** Called with a slot. The caller must call `release` exactly once. */
type BeginWithSlot = (release: () => void) => void;

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
  /** Whether a call of `acquire` would have to wait for other calls of the same owner, even if slots are free. */
  hasUsedUpShare(kind: SlotKind, owner: string): boolean;
}

/** Maximum numbers of concurrent requests. */
interface SlotLimits {
  slow: number;
  untried: number;
  slowOrUntried: number;
  requested: number;
}

interface WaitingOwner {
  calls: Set<{ begin: BeginWithSlot }>;
  slotsInARow: number;
}

/** Slots that are limited together. */
interface SlotPool {
  isFull(): boolean;
  /** Whether the owner has as many slots as one owner may have. */
  isOwnerFull(owner: string): boolean;
  add(owner: string): void;
  remove(owner: string): void;
}

/** @param maxPerOwner how many slots one owner may have */
function createSlotPool(size: number, maxPerOwner: number): SlotPool {
  const usedByOwner = new Map<string, number>();
  let used = 0;
  const countSlotsOf = (owner: string) => usedByOwner.get(owner) ?? 0;
  return {
    isFull: () => used >= size,
    isOwnerFull: (owner) => countSlotsOf(owner) >= maxPerOwner,
    add(owner) {
      used += 1;
      usedByOwner.set(owner, countSlotsOf(owner) + 1);
    },
    remove(owner) {
      used -= 1;
      if (countSlotsOf(owner) === 1) usedByOwner.delete(owner);
      else usedByOwner.set(owner, countSlotsOf(owner) - 1);
    },
  };
}

/** Creates a pool of which one owner may have half, rounded up. */
const createSharedPool = (size: number) => createSlotPool(size, Math.ceil(size / 2));

/**
 * @param size maximum number of concurrent requests
 * @param limits maximum numbers for the slow lane, for untried endpoints, for both together, and for requested deliveries. However many
 *   receivers hang, the other slots stay free for healthy endpoints.
 */
export function createRequestSlots(size: number, limits: SlotLimits): RequestSlots {
  // One owner may have all of these, because healthy receivers release their slots soon.
  const common = createSlotPool(size, size);
  const slowOrUntried = createSharedPool(limits.slowOrUntried);
  const pools: Record<SlotKind, readonly SlotPool[]> = {
    fast: [common],
    slow: [common, createSharedPool(limits.slow), slowOrUntried],
    untried: [common, createSharedPool(limits.untried), slowOrUntried],
    requested: [common, createSharedPool(limits.requested)],
  };
  /** The waiting calls of each owner, and how many slots the owner just got in a row. Owners and calls in their order. */
  const waiting: Record<SlotKind, Map<string, WaitingOwner>> = {
    fast: new Map(),
    untried: new Map(),
    slow: new Map(),
    requested: new Map(),
  };
  // In the fast lane as many as one endpoint may have, because deliveries that begin together are checked in one query. One elsewhere,
  // because those slots may stay occupied for long.
  const maxInARow: Record<SlotKind, number> = { fast: Math.ceil(size / 2), untried: 1, slow: 1, requested: 1 };
  // Under full load the kinds alternate, so that none of them starves.
  const kindOrder: SlotKind[] = ['fast', 'untried', 'slow'];
  let admitting = false;

  const isKindFull = (kind: SlotKind) => pools[kind].some((pool) => pool.isFull());
  const isOwnerFull = (kind: SlotKind, owner: string) => pools[kind].some((pool) => pool.isOwnerFull(owner));
  const isFull = (kind: SlotKind, owner: string) =>
    admitting || waiting[kind].has(owner) || isKindFull(kind) || isOwnerFull(kind, owner);

  function occupySlot(kind: SlotKind, owner: string, begin: BeginWithSlot): void {
    for (const pool of pools[kind]) pool.add(owner);
    begin(() => release(kind, owner));
  }

  function admitWaitingOwner(kind: SlotKind): boolean {
    if (isKindFull(kind)) return false;
    for (const [owner, entry] of waiting[kind]) {
      if (isOwnerFull(kind, owner)) continue;
      const [first] = entry.calls;
      entry.calls.delete(first!);
      entry.slotsInARow += 1;
      if (entry.calls.size === 0) waiting[kind].delete(owner);
      else if (entry.slotsInARow === maxInARow[kind]) {
        // The owner goes to the end of the queue.
        waiting[kind].delete(owner);
        waiting[kind].set(owner, { calls: entry.calls, slotsInARow: 0 });
      }
      occupySlot(kind, owner, first!.begin);
      return true;
    }
    return false;
  }

  function admitNextKind(): boolean {
    if (admitWaitingOwner('requested')) return true;
    const admitted = kindOrder.find(admitWaitingOwner);
    if (admitted === undefined) return false;
    kindOrder.push(...kindOrder.splice(kindOrder.indexOf(admitted), 1));
    return true;
  }

  function release(kind: SlotKind, owner: string): void {
    for (const pool of pools[kind]) pool.remove(owner);
    // A call may release its slot at once. Loop instead of recursing for each such call.
    if (admitting) return;
    admitting = true;
    while (admitNextKind());
    admitting = false;
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
    hasUsedUpShare: (kind, owner) => waiting[kind].has(owner) || isOwnerFull(kind, owner),
  };
}
