import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Bench, Figure, Group } from '../figure.ts';
import { median } from '../measure/statistics.ts';
import { withClient } from '../setup/database.ts';
import { belfryEnvironment } from '../setup/environment.ts';

const DATABASE = 'bench_fifty';
const PROGRAM = new URL('../processes/fifty-resources.ts', import.meta.url);
const COMPILED = fileURLToPath(new URL('../../node_modules/.cache/node', import.meta.url));
// By then, garbage of the start-up has been collected.
const IDLE_MS = 3000;

/** Creates a database of its own, since fifty resources have fifty tables. */
async function makeDatabase({ servers }: Bench): Promise<string> {
  await withClient(servers.databaseUrl, async (client) => {
    await client.query(`drop database if exists ${DATABASE}`);
    await client.query(`create database ${DATABASE}`);
  });
  const url = new URL(servers.databaseUrl);
  url.pathname = `/${DATABASE}`;
  return url.href;
}

function spread(values: readonly number[], digits: number): string {
  return `${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)}`;
}

/** Measures how long `web` with fifty resources takes from start to ready, and how much memory it holds while idle. */
export const start: Group = {
  name: 'start',
  async run(bench): Promise<Figure[]> {
    if (!['start.ms', 'start.memory'].some(bench.wants)) return [];
    bench.say('start …');
    const databaseUrl = await makeDatabase(bench);
    // As in the Procfile: code that was compiled once is not compiled again.
    const environment = { ...belfryEnvironment({ ...bench.servers, databaseUrl }), NODE_COMPILE_CACHE: COMPILED };
    await (await bench.children.start(PROGRAM, { ...environment, BENCH_MIGRATE: 'on' })).stop();
    const times: number[] = [];
    const memories: number[] = [];
    for (let round = 0; round < bench.reps; round++) {
      const begin = performance.now();
      const web = await bench.children.start(PROGRAM, environment);
      times.push(performance.now() - begin);
      await sleep(IDLE_MS);
      memories.push((await web.ask<number>('memory')) / 2 ** 20);
      await web.stop();
    }
    await withClient(bench.servers.databaseUrl, (client) => client.query(`drop database ${DATABASE} with (force)`));
    return [
      { name: 'start.ms', value: median(times), unit: 'ms', note: `${spread(times, 0)}; web with 50 resources` },
      { name: 'start.memory', value: median(memories), unit: 'MB', note: `${spread(memories, 0)}; web, idle` },
    ].filter(({ name }) => bench.wants(name)) as Figure[];
  },
};
