import type { PostgresCpu } from './cpu-time.ts';
import { estimateRatio } from './interval.ts';
import type { Operation, Processes } from './operations.ts';
import type { Side, SideName } from './sides.ts';

const ROUND_SECONDS = 1;
const WARM_UP_SECONDS = 2;
const MIN_ROUNDS = 6;
/** Enough to see a change of 5 %. */
const TARGET_MARGIN = 0.04;

/** µs of CPU time per operation, by side and round. */
export type Costs = Partial<Record<SideName, number[]>>;

/** A side with its processes. */
export interface Contestant {
  side: Side;
  processes: Processes;
}

async function measureRound(
  operation: Operation,
  { side, processes }: Contestant,
  postgres: PostgresCpu | undefined,
  seconds: number,
): Promise<number> {
  await operation.reset?.(side);
  const readCpu = async () => {
    const times = await Promise.all(Object.values(processes.children).map((child) => child.call<number>('cpu')));
    return times.reduce((sum, time) => sum + time, (await postgres?.read()) ?? 0);
  };
  const before = await readCpu();
  const { operations } = await operation.run(processes, { seconds });
  return ((await readCpu()) - before) / operations;
}

/**
 * Lets the sides take turns with short rounds, until the ratio of the working tree to the other commit is known well enough or the time is
 * used up. Every round begins with the next side, so that a drift of the machine's speed affects all sides equally.
 *
 * @param endTime as of `performance.now()`
 */
export async function measureCosts(
  operation: Operation,
  contestants: readonly Contestant[],
  postgres: PostgresCpu | undefined,
  endTime: number,
): Promise<Costs> {
  for (const contestant of contestants) await measureRound(operation, contestant, postgres, WARM_UP_SECONDS);
  const costs: Costs = {};
  for (let round = 0; ; round++) {
    const startedAt = performance.now();
    for (let i = 0; i < contestants.length; i++) {
      const contestant = contestants[(round + i) % contestants.length]!;
      const cost = await measureRound(operation, contestant, postgres, ROUND_SECONDS);
      costs[contestant.side.name] = [...(costs[contestant.side.name] ?? []), cost];
    }
    const rounds = round + 1;
    const { this: own = [], against = costs.handwritten ?? [] } = costs;
    if (rounds >= MIN_ROUNDS && (against.length === 0 || isPrecise(estimateRatio(own, against).margin))) return costs;
    // One more round would not end in time. An interval needs two.
    const now = performance.now();
    if (rounds >= 2 && now + (now - startedAt) > endTime) return costs;
  }
}

/** Returns whether an interval is narrow enough to see a change of 5 %. */
export function isPrecise(margin: number): boolean {
  return margin < TARGET_MARGIN;
}
