import type { Bench } from '../figure.ts';
import { runInterleaved } from '../measure/interleave.ts';
import { runLoad } from '../measure/load.ts';
import { type DatabaseCpu, measureTurn, type Turn } from './costs.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import type { Side } from './side.ts';

/** The turns of all sides in one operation, by the title of the side. Belfry is the first. */
export interface Measurement {
  operation: string;
  turns: Record<string, Turn[]>;
}

async function measureOperation(
  bench: Bench,
  databases: DatabaseCpu,
  operation: Operation,
  sides: readonly Side[],
): Promise<Record<string, Turn[]>> {
  const { connections, minSeconds, writes } = operation;
  const createTurns = (seconds: number) =>
    Object.fromEntries(
      sides.map((side) => [
        side.title,
        async () => {
          if (writes) await side.reset();
          const createRequest = operation.prepare(side)!;
          return measureTurn(side.process, databases, async () => {
            const { requests, perSecond } = await runLoad(side.process.url, createRequest, { connections, seconds });
            return { operations: requests, perSecond };
          });
        },
      ]),
    );
  await runInterleaved(createTurns(bench.warmUpSeconds), 1);
  return runInterleaved(createTurns(Math.max(bench.seconds, minSeconds)), bench.reps);
}

/** Measures all operations of servers. */
export async function measureServers(
  bench: Bench,
  databases: DatabaseCpu,
  sides: readonly Side[],
): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const operation of OPERATIONS) {
    const contestants = sides.filter((side) => operation.prepare(side) !== undefined);
    // Without a peer there is nothing to compare.
    if (contestants.length < 2) continue;
    bench.logProgress(`${operation.title} …`);
    measurements.push({
      operation: operation.title,
      turns: await measureOperation(bench, databases, operation, contestants),
    });
    for (const side of contestants) if (operation.writes) await side.reset();
  }
  return measurements;
}
