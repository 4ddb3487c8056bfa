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
   * order; owners that wait for slots of the same kind alternate.
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
  /** The waiting calls of each owner. Owners and calls in the order in which they get slots. */
  const waiting: Record<SlotKind, Map<string, Set<{ begin: BeginWithSlot }>>> = {
    fast: new Map(),
    untried: new Map(),
    slow: new Map(),
    requested: new Map(),
  };
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
    for (const [owner, calls] of waiting[kind]) {
      if (isOwnerFull(kind, owner)) continue;
      const [first] = calls;
      calls.delete(first!);
      // The owner goes to the end of the queue.
      waiting[kind].delete(owner);
      if (calls.size > 0) waiting[kind].set(owner, calls);
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
      const calls = waiting[kind].get(owner) ?? new Set();
      waiting[kind].set(owner, calls.add({ begin }));
    },
    isFull,
    hasUsedUpShare: (kind, owner) => waiting[kind].has(owner) || isOwnerFull(kind, owner),
  };
}
