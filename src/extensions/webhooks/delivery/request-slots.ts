import type { Lane } from './endpoint-jobs.ts';

/**
 * The purpose of a request: an endpoint of a lane; an endpoint in the fast lane that has not yet responded; or a delivery that a client
 * requested.
 */
export type SlotKind = Lane | 'untried' | 'requested';

/** Limits the requests that an instance may have in flight. */
export interface RequestSlots {
  /**
   * Calls `begin` as soon as a slot of the kind is free, possibly synchronously. The caller must call `release` exactly once. Calls of a
   * kind get their slots in order.
   */
  acquire(kind: SlotKind, begin: (release: () => void) => void): void;
  /** Whether a call of `acquire` would have to wait. */
  isFull(kind: SlotKind): boolean;
  /** Runs a task in a slot. */
  run<T>(kind: SlotKind, task: () => Promise<T>): Promise<T>;
}

/** Maximum numbers of concurrent requests per kind. */
interface SlotLimits {
  slow: number;
  untried: number;
  slowOrUntried: number;
  requested: number;
}

interface Waiting {
  begin: (release: () => void) => void;
}

/**
 * @param size maximum number of concurrent tasks
 * @param most limits for the slow lane, for untried endpoints, for both together (`doubtful`), and for requested deliveries. However
 *   many receivers hang, the other slots stay free for healthy endpoints.
 */
export function createRequestSlots(size: number, most: SlotLimits): RequestSlots {
  const waiting: Record<SlotKind, Set<Waiting>> = {
    fast: new Set(),
    untried: new Set(),
    slow: new Set(),
    requested: new Set(),
  };
  const running: Record<SlotKind, number> = { fast: 0, untried: 0, slow: 0, requested: 0 };
  const limit: Record<SlotKind, number> = { fast: size, ...most };
  let inAll = 0;
  // Under full load the kinds alternate, so that none of them starves.
  const order: SlotKind[] = ['fast', 'untried', 'slow'];
  let admitting = false;

  const isDoubtful = (kind: SlotKind) => kind === 'slow' || kind === 'untried';
  const hasSlot = (kind: SlotKind) =>
    inAll < size &&
    running[kind] < limit[kind] &&
    !(isDoubtful(kind) && running.slow + running.untried >= most.slowOrUntried);
  const release: Record<SlotKind, () => void> = {
    fast: () => free('fast'),
    untried: () => free('untried'),
    slow: () => free('slow'),
    requested: () => free('requested'),
  };

  function enter(kind: SlotKind, begin: Waiting['begin']): void {
    running[kind] += 1;
    inAll += 1;
    begin(release[kind]);
  }

  function admit(kind: SlotKind): boolean {
    if (waiting[kind].size === 0 || !hasSlot(kind)) return false;
    const [first] = waiting[kind];
    waiting[kind].delete(first!);
    enter(kind, first!.begin);
    return true;
  }

  function admitNext(): boolean {
    if (admit('requested')) return true;
    const admitted = order.find(admit);
    if (admitted === undefined) return false;
    order.push(...order.splice(order.indexOf(admitted), 1));
    return true;
  }

  function free(kind: SlotKind): void {
    running[kind] -= 1;
    inAll -= 1;
    // A task may release its slot at once. Loop instead of recursing for each such task.
    if (admitting) return;
    admitting = true;
    while (admitNext());
    admitting = false;
  }

  function acquire(kind: SlotKind, begin: Waiting['begin']): void {
    if (waiting[kind].size === 0 && hasSlot(kind)) enter(kind, begin);
    else waiting[kind].add({ begin });
  }

  return {
    acquire,
    isFull: (kind) => waiting[kind].size > 0 || !hasSlot(kind),
    run: (kind, task) =>
      new Promise((resolve, reject) => {
        acquire(kind, (release) => void task().finally(release).then(resolve, reject));
      }),
  };
}
