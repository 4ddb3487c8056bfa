import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Bench, Figure, Group } from '../figure.ts';
import { median } from '../measure/statistics.ts';
import { withOwnDatabase } from '../setup/database.ts';
import { createBelfryEnvironment } from '../setup/environment.ts';

const PROGRAM = new URL('../processes/fifty-resources.ts', import.meta.url);
const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/node', import.meta.url));
// By then, garbage of the start-up has been collected.
const IDLE_MS = 3000;

function formatRange(values: readonly number[], digits: number): string {
  return `${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)}`;
}

async function measureStarts({ servers, children, reps }: Bench): Promise<Figure[]> {
  // As in the Procfile: code that was compiled once is not compiled again.
  const environment = { ...createBelfryEnvironment(servers), NODE_COMPILE_CACHE: COMPILE_CACHE };
  await (await children.start(PROGRAM, { ...environment, BENCH_MIGRATE: 'on' })).stop();
  const times: number[] = [];
  const memories: number[] = [];
  for (let round = 0; round < reps; round++) {
    const begin = performance.now();
    const web = await children.start(PROGRAM, environment);
    times.push(performance.now() - begin);
    await sleep(IDLE_MS);
    memories.push((await web.call<number>('memory')) / 2 ** 20);
    await web.stop();
  }
  return [
    { name: 'start.ms', value: median(times), unit: 'ms', note: `${formatRange(times, 0)}; web with 50 resources` },
    { name: 'start.memory', value: median(memories), unit: 'MB', note: `${formatRange(memories, 0)}; web, idle` },
  ];
}

/** Measures how long `web` with fifty resources takes from start to ready, and how much memory it holds while idle. */
export const startup: Group = {
  name: 'start',
  async run(bench): Promise<Figure[]> {
    if (!['start.ms', 'start.memory'].some(bench.isRequested)) return [];
    bench.logProgress('start …');
    // Fifty resources have fifty tables.
    const figures = await withOwnDatabase(bench, 'startup', measureStarts);
    return figures.filter(({ name }) => bench.isRequested(name));
  },
};
