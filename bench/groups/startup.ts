import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Bench, Figure, Group } from '../figure.ts';
import { median } from '../measure/statistics.ts';
import { withClient } from '../setup/database.ts';
import { createBelfryEnvironment } from '../setup/environment.ts';

const DATABASE = 'bench_fifty';
const PROGRAM = new URL('../processes/fifty-resources.ts', import.meta.url);
const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/node', import.meta.url));
// By then, garbage of the start-up has been collected.
const IDLE_MS = 3000;

/** Creates a database of its own, since fifty resources have fifty tables. */
async function createDatabase({ servers }: Bench): Promise<string> {
  await withClient(servers.databaseUrl, async (client) => {
    await client.query(`drop database if exists ${DATABASE}`);
    await client.query(`create database ${DATABASE}`);
  });
  const url = new URL(servers.databaseUrl);
  url.pathname = `/${DATABASE}`;
  return url.href;
}

function formatRange(values: readonly number[], digits: number): string {
  return `${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)}`;
}

/** Measures how long `web` with fifty resources takes from start to ready, and how much memory it holds while idle. */
export const startup: Group = {
  name: 'start',
  async run(bench): Promise<Figure[]> {
    if (!['start.ms', 'start.memory'].some(bench.isRequested)) return [];
    bench.logProgress('start …');
    const databaseUrl = await createDatabase(bench);
    // As in the Procfile: code that was compiled once is not compiled again.
    const environment = {
      ...createBelfryEnvironment({ ...bench.servers, databaseUrl }),
      NODE_COMPILE_CACHE: COMPILE_CACHE,
    };
    await (await bench.children.start(PROGRAM, { ...environment, BENCH_MIGRATE: 'on' })).stop();
    const times: number[] = [];
    const memories: number[] = [];
    for (let round = 0; round < bench.reps; round++) {
      const begin = performance.now();
      const web = await bench.children.start(PROGRAM, environment);
      times.push(performance.now() - begin);
      await sleep(IDLE_MS);
      memories.push((await web.call<number>('memory')) / 2 ** 20);
      await web.stop();
    }
    await withClient(bench.servers.databaseUrl, (client) => client.query(`drop database ${DATABASE} with (force)`));
    return [
      { name: 'start.ms', value: median(times), unit: 'ms', note: `${formatRange(times, 0)}; web with 50 resources` },
      { name: 'start.memory', value: median(memories), unit: 'MB', note: `${formatRange(memories, 0)}; web, idle` },
    ].filter(({ name }) => bench.isRequested(name)) as Figure[];
  },
};
