import type { Lane } from './wake-up.ts';

/** Whose turn a request is: that of a lane, or of somebody who asked for it and waits. */
export type Turn = Lane | 'asked';

/** The requests that an instance may have in flight. */
export interface Places {
  /** Runs a task as soon as there is a place for its turn; tasks of a turn come in the order in which they asked. */
  run<T>(turn: Turn, task: () => Promise<T>): Promise<T>;
}

/**
 * @param size tasks at once, all together
 * @param most of these, at most so many of the slow lane and of what was asked for: however many receivers hang, the rest stays
 *   free for healthy ones
 */
export function createPlaces(size: number, most: { slow: number; asked: number }): Places {
  const waiting: Record<Turn, Set<() => void>> = { fast: new Set(), slow: new Set(), asked: new Set() };
  const running: Record<Turn, number> = { fast: 0, slow: 0, asked: 0 };
  const limit: Record<Turn, number> = { fast: size, ...most };
  let inAll = 0;
  // Under full load both lanes take turns: neither starves the other.
  let next: Lane = 'fast';

  const hasPlace = (turn: Turn) => inAll < size && running[turn] < limit[turn];

  function take(turn: Turn): void {
    running[turn] += 1;
    inAll += 1;
  }

  function admit(turn: Turn): boolean {
    const first = waiting[turn].values().next().value;
    if (first === undefined || !hasPlace(turn)) return false;
    waiting[turn].delete(first);
    take(turn);
    first();
    return true;
  }

  function admitNext(): void {
    if (admit('asked')) return;
    const other: Lane = next === 'fast' ? 'slow' : 'fast';
    if (admit(next)) next = other;
    else admit(other);
  }

  return {
    async run(turn, task) {
      if (waiting[turn].size === 0 && hasPlace(turn)) take(turn);
      else await new Promise<void>((resolve) => waiting[turn].add(resolve));
      try {
        return await task();
      } finally {
        running[turn] -= 1;
        inAll -= 1;
        admitNext();
      }
    },
  };
}
