import type { PostgresCpu } from './cpu-time.ts';
import { estimateRatio } from './interval.ts';
import type { Operation, Processes } from './operations.ts';
import type { Side, SideName } from './sides.ts';

/**
 * How long each side works in a round. With three sides, a round takes a bit more than a second. On a busy machine the cost of the same work
 * doubles within seconds, so the sides must follow each other closely.
 */
const TURN_SECONDS = 0.4;
const ROUNDS_PER_RESET = 5;
/** The ratio to the handwritten API may be less exact, so that API works in every third round only. */
const ROUNDS_PER_HANDWRITTEN = 3;
/** By then, V8 has compiled what is measured. A busy machine needs more time for it, so the time alone says nothing. */
const WARM_UP_OPERATIONS = 3000;
const MAX_WARM_UP_SHARE = 0.4;
const MIN_ROUNDS = 6;
/** Enough to see a change of 5 %. */
const TARGET_MARGIN = 0.04;

/** µs of CPU time per operation, by side and round. The handwritten API has fewer rounds. */
export type Costs = Partial<Record<SideName, number[]>>;

/** A side with its processes. */
export interface Contestant {
  side: Side;
  processes: Processes;
}

async function takeTurn(
  operation: Operation,
  processes: Processes,
  postgres: PostgresCpu | undefined,
): Promise<{ micros: number; operations: number }> {
  const readCpu = async () => {
    const times = await Promise.all(Object.values(processes.children).map((child) => child.call<number>('cpu')));
    return times.reduce((sum, time) => sum + time, (await postgres?.read()) ?? 0);
  };
  const before = await readCpu();
  const { operations } = await operation.run(processes, { seconds: TURN_SECONDS });
  return { micros: (await readCpu()) - before, operations };
}

async function resetAll(operation: Operation, contestants: readonly Contestant[]): Promise<void> {
  for (const { side } of contestants) await operation.reset?.(side);
}

async function warmUp(operation: Operation, contestants: readonly Contestant[], endTime: number): Promise<void> {
  let done = 0;
  for (let round = 0; done < WARM_UP_OPERATIONS && performance.now() < endTime; round++) {
    if (round % ROUNDS_PER_RESET === 0) await resetAll(operation, contestants);
    const turns = [];
    for (const { processes } of contestants) turns.push(await takeTurn(operation, processes, undefined));
    done += Math.min(...turns.map(({ operations }) => operations));
  }
}

/**
 * Lets the sides take turns and adds the costs of each round, until the ratio of the working tree to the other commit is known well enough or
 * the time is used up. Every round begins with the next side, so that a drift of the machine's speed affects all sides equally.
 *
 * @param endTime as of `performance.now()`
 */
export async function addRounds(
  costs: Costs,
  operation: Operation,
  contestants: readonly Contestant[],
  postgres: PostgresCpu | undefined,
  endTime: number,
): Promise<void> {
  const startedAt = performance.now();
  await warmUp(operation, contestants, startedAt + (endTime - startedAt) * MAX_WARM_UP_SHARE);
  for (let round = 0; ; round++) {
    const roundStart = performance.now();
    if (round % ROUNDS_PER_RESET === 0) await resetAll(operation, contestants);
    for (let i = 0; i < contestants.length; i++) {
      const { side, processes } = contestants[(round + i) % contestants.length]!;
      if (side.name === 'handwritten' && round % ROUNDS_PER_HANDWRITTEN !== 0) continue;
      const { micros, operations } = await takeTurn(operation, processes, postgres);
      costs[side.name] = [...(costs[side.name] ?? []), micros / operations];
    }
    const { this: own = [], against } = costs;
    if (round + 1 >= MIN_ROUNDS && (!against || isPrecise(estimateRatio(own, against).margin))) return;
    // One more round would not end in time. An interval needs two.
    const now = performance.now();
    if (own.length >= 2 && now + (now - roundStart) > endTime) return;
  }
}

/** Returns whether an interval is narrow enough to see a change of 5 %. */
export function isPrecise(margin: number): boolean {
  return margin < TARGET_MARGIN;
}
