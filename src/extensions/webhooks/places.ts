import type { Lane } from './wake-up.ts';

/** The requests that an instance may have in flight. */
export interface Places {
  /** Runs a task as soon as its lane has a place; tasks of a lane come in the order in which they asked. */
  run<T>(lane: Lane, task: () => Promise<T>): Promise<T>;
}

/**
 * @param size tasks at once, both lanes together
 * @param slowSize of these, at most so many of the slow lane: however many receivers hang, the rest stays free for healthy ones
 */
export function createPlaces(size: number, slowSize: number): Places {
  const waiting: Record<Lane, Set<() => void>> = { fast: new Set(), slow: new Set() };
  const running: Record<Lane, number> = { fast: 0, slow: 0 };
  // Under full load both lanes take turns: neither starves the other.
  let turn: Lane = 'fast';

  const hasPlace = (lane: Lane) => running.fast + running.slow < size && (lane === 'fast' || running.slow < slowSize);

  function admit(lane: Lane): boolean {
    const next = waiting[lane].values().next().value;
    if (next === undefined || !hasPlace(lane)) return false;
    waiting[lane].delete(next);
    running[lane] += 1;
    next();
    return true;
  }

  function admitNext(): void {
    const other: Lane = turn === 'fast' ? 'slow' : 'fast';
    if (admit(turn)) turn = other;
    else admit(other);
  }

  return {
    async run(lane, task) {
      if (waiting[lane].size === 0 && hasPlace(lane)) running[lane] += 1;
      else await new Promise<void>((resolve) => waiting[lane].add(resolve));
      try {
        return await task();
      } finally {
        running[lane] -= 1;
        admitNext();
      }
    },
  };
}
