import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseCommandLine } from '../command-line.ts';
import { median } from '../measure/statistics.ts';
import { runSession, type Session } from '../session.ts';
import { withClient } from '../setup/database.ts';
import { type Counts, countSetup } from './counts.ts';
import { openPostgresCpu, type PostgresCpu } from './cpu-time.ts';
import { estimateRatio } from './interval.ts';
import { type Operation, type Setup, selectSetups } from './operations.ts';
import { addRounds, type Contestant, type Costs, isPrecise } from './rounds.ts';
import { createSides, type Side, type SideName } from './sides.ts';
import { type Comparison, findRegressions, formatComparisons } from './verdict.ts';
import { checkOut, resolveCommit } from './worktree.ts';

/** Without the time to install packages of another commit. */
const BUDGET_MS = 5 * 60_000;
const WATCHDOG_MS = 12 * 60_000;
/**
 * How often the processes are replaced by new ones. Two processes with the same code can differ by 5 % for as long as they live, because V8
 * compiled them at different moments.
 */
const GENERATIONS = 3;
/** For one operation in one generation. */
const MAX_MEASURING_MS = 40_000;

type CountsBySide = Partial<Record<SideName, Map<string, Counts>>>;

interface Guard {
  session: Session;
  sides: readonly Side[];
  postgres: PostgresCpu | undefined;
  /** As of `performance.now()`. */
  endTime: number;
}

/** Counts on both sides. A side without counts does not have the operations. */
async function count({ session, sides }: Guard, setup: Setup): Promise<CountsBySide> {
  const bySide: CountsBySide = {};
  for (const side of sides.filter(({ name }) => name !== 'handwritten')) {
    try {
      bySide[side.name] = await countSetup(setup, side);
    } catch (error) {
      if (side.name === 'this') throw error;
      const names = setup.operations.map(({ name }) => name).join(', ');
      session.logProgress(`The other commit does not have ${names}: ${(error as Error).message}`);
    }
  }
  return bySide;
}

function compare({ name }: Operation, counts: CountsBySide, costs: Costs): Comparison {
  const { this: own = [], against, handwritten } = costs;
  const otherCounts = counts.against?.get(name);
  const interval = against && estimateRatio(own, against);
  return {
    name,
    micros: median(own),
    counts: counts.this!.get(name)!,
    ...(interval && otherCounts && { against: { micros: median(against), interval, counts: otherCounts } }),
    ...(handwritten && { handwritten: median(own) / median(handwritten) }),
    isImprecise: interval !== undefined && !isPrecise(interval.margin),
  };
}

/** Starts the processes of a setup on all sides that have it. */
function startContestants({ sides }: Guard, setup: Setup, counts: CountsBySide): Promise<Contestant[]> {
  const isThere = ({ name }: Side) => (name === 'handwritten' ? setup.isHandwritten : counts[name] !== undefined);
  return Promise.all(sides.filter(isThere).map(async (side) => ({ side, processes: await setup.start(side) })));
}

/** @param waiting the number of operations that are not measured yet, with those of this setup */
async function measureSetup(guard: Guard, setup: Setup, counts: CountsBySide, waiting: number): Promise<Comparison[]> {
  const { session, postgres, endTime } = guard;
  const { operations } = setup;
  const costs = new Map<Operation, Costs>(operations.map((operation) => [operation, {}]));
  const setupEnd = performance.now() + ((endTime - performance.now()) * operations.length) / waiting;
  for (let generation = 0; generation < GENERATIONS; generation++) {
    const startedAt = performance.now();
    const generationEnd = startedAt + (setupEnd - startedAt) / (GENERATIONS - generation);
    const contestants = await startContestants(guard, setup, counts);
    const startMs = performance.now() - startedAt;
    for (const [done, operation] of operations.entries()) {
      session.logProgress(`guard: ${operation.name} (${generation + 1} of ${GENERATIONS}) …`);
      const now = performance.now();
      const share = (generationEnd - now) / (operations.length - done);
      const end = now + Math.min(share, MAX_MEASURING_MS);
      await addRounds(costs.get(operation)!, operation, contestants, postgres, end);
    }
    await session.children.stopAll();
    // On a busy machine, another start would take most of the time that is left.
    if (setupEnd - performance.now() < 2 * startMs) break;
  }
  return operations.map((operation) => compare(operation, counts, costs.get(operation)!));
}

async function measure(session: Session, setups: readonly Setup[], commit: string): Promise<Comparison[]> {
  const otherRoot = await checkOut(session, commit);
  const endTime = performance.now() + BUDGET_MS;
  const { databaseUrl } = session.services;
  const postgres = await openPostgresCpu(databaseUrl);
  const guard = { session, sides: await createSides(session, otherRoot), postgres, endTime };
  const setSetting = (value: 'on' | 'off') =>
    withClient(databaseUrl, async (client) => {
      await client.query(`alter system set full_page_writes = ${value}`);
      await client.query('select pg_reload_conf()');
    });
  // The first change of a page after a checkpoint would write the whole page, which depends on time.
  await setSetting('off');
  const counts = new Map<Setup, CountsBySide>();
  for (const setup of setups) {
    session.logProgress(`guard: counting ${setup.operations.map(({ name }) => name).join(', ')} …`);
    counts.set(setup, await count(guard, setup));
  }
  await setSetting('on');
  const comparisons: Comparison[] = [];
  const total = setups.flatMap(({ operations }) => operations).length;
  for (const setup of setups) {
    comparisons.push(...(await measureSetup(guard, setup, counts.get(setup)!, total - comparisons.length)));
  }
  await postgres?.close();
  console.log(postgres === undefined ? 'CPU time is without Postgres, which has no readable /proc here.' : '');
  return comparisons;
}

/** Compares the cost of operations between the working tree and another commit. Exit code 1 if one became more than 5 % worse. */
export async function runGuard(args: string[]): Promise<void> {
  const { values, positionals } = parseCommandLine(args, { against: { type: 'string' } });
  const setups = selectSetups(positionals);
  const recorded = JSON.parse(readFileSync(new URL('../guard.json', import.meta.url), 'utf8')) as { commit: string };
  const against = values.against ?? recorded.commit;
  const commit = await resolveCommit(against);
  const load = loadavg()[0]!.toFixed(1);
  await runSession({ maxMs: WATCHDOG_MS }, async (session) => {
    const comparisons = await measure(session, setups, commit);
    console.log(`The working tree ("this") against ${against}; CPU time of all processes and Postgres per operation;`);
    console.log(`load average ${load} at the start.\n\n${formatComparisons(comparisons)}`);
    const regressions = findRegressions(comparisons);
    for (const regression of regressions) console.log(`\nWORSE  ${regression}`);
    if (regressions.length > 0) process.exitCode = 1;
  });
}
