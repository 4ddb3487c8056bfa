import type { Lane } from './wake-up.ts';

/**
 * Whose turn a request is: that of a lane, of an endpoint in the fast lane of which it is not known whether it answers, or of somebody
 * who asked for it and waits.
 */
export type Turn = Lane | 'untried' | 'asked';

/** The requests that an instance may have in flight. */
export interface Places {
  /**
   * Calls `begin` as soon as there is a place for its turn, which may be at once; who has got it gives it back by calling `leave`,
   * once. Those of a turn come in the order in which they asked.
   */
  take(turn: Turn, begin: (leave: () => void) => void): void;
  /** Whether who asks now would have to wait. */
  isFull(turn: Turn): boolean;
  /** Runs a task in a place. */
  run<T>(turn: Turn, task: () => Promise<T>): Promise<T>;
}

/** Places that may be taken at once, at most. */
interface PlaceLimits {
  slow: number;
  untried: number;
  doubtful: number;
  asked: number;
}

interface Waiting {
  begin: (leave: () => void) => void;
}

/**
 * @param size tasks at once, all together
 * @param most of these, at most so many of the slow lane, of untried endpoints, of both together (`doubtful`), and of what was asked
 *   for: however many receivers hang, the rest stays free for healthy ones
 */
export function createPlaces(size: number, most: PlaceLimits): Places {
  const waiting: Record<Turn, Set<Waiting>> = {
    fast: new Set(),
    untried: new Set(),
    slow: new Set(),
    asked: new Set(),
  };
  const running: Record<Turn, number> = { fast: 0, untried: 0, slow: 0, asked: 0 };
  const limit: Record<Turn, number> = { fast: size, ...most };
  let inAll = 0;
  // Under full load they take turns: none starves another.
  const order: Turn[] = ['fast', 'untried', 'slow'];
  let admitting = false;

  const isDoubtful = (turn: Turn) => turn === 'slow' || turn === 'untried';
  const hasPlace = (turn: Turn) =>
    inAll < size &&
    running[turn] < limit[turn] &&
    !(isDoubtful(turn) && running.slow + running.untried >= most.doubtful);
  const leave: Record<Turn, () => void> = {
    fast: () => free('fast'),
    untried: () => free('untried'),
    slow: () => free('slow'),
    asked: () => free('asked'),
  };

  function enter(turn: Turn, begin: Waiting['begin']): void {
    running[turn] += 1;
    inAll += 1;
    begin(leave[turn]);
  }

  function admit(turn: Turn): boolean {
    if (waiting[turn].size === 0 || !hasPlace(turn)) return false;
    const [first] = waiting[turn];
    waiting[turn].delete(first!);
    enter(turn, first!.begin);
    return true;
  }

  function admitNext(): boolean {
    if (admit('asked')) return true;
    const admitted = order.find(admit);
    if (admitted === undefined) return false;
    order.push(...order.splice(order.indexOf(admitted), 1));
    return true;
  }

  function free(turn: Turn): void {
    running[turn] -= 1;
    inAll -= 1;
    // Who is let in may leave at once: a loop, not a call within a call for each of them.
    if (admitting) return;
    admitting = true;
    while (admitNext());
    admitting = false;
  }

  function take(turn: Turn, begin: Waiting['begin']): void {
    if (waiting[turn].size === 0 && hasPlace(turn)) enter(turn, begin);
    else waiting[turn].add({ begin });
  }

  return {
    take,
    isFull: (turn) => waiting[turn].size > 0 || !hasPlace(turn),
    run: (turn, task) =>
      new Promise((resolve, reject) => {
        take(turn, (left) => void task().finally(left).then(resolve, reject));
      }),
  };
}
