import { type Bench, type Figure, type Group, ratio } from '../../figure.ts';
import { interleave } from '../../measure/interleave.ts';
import { load, type Shot, type Throughput } from '../../measure/load.ts';
import { median } from '../../measure/statistics.ts';
import { startBelfry } from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { cleanUp } from '../../setup/database.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { assertSameAnswers } from './same-responses.ts';

const CONNECTIONS = 20;
const SIDES = ['belfry', 'floor', 'lean'] as const;

type Servers = Record<(typeof SIDES)[number], Child>;

/** A repetition, with the server's CPU time per request, which noise of the machine hardly affects. */
interface Repetition extends Throughput {
  cpuMicros: number;
}

async function repetition(server: Child, next: (at: number) => Shot, seconds: number): Promise<Repetition> {
  const before = await server.ask<number>('cpu');
  const result = await load(server.url, next, { connections: CONNECTIONS, seconds });
  const after = await server.ask<number>('cpu');
  return { ...result, cpuMicros: (after - before) / result.requests };
}

function describe(results: readonly Repetition[]): string {
  const of = (pick: (result: Repetition) => number) => median(results.map(pick));
  const times = `${of((one) => one.p50).toFixed(1)}/${of((one) => one.p99).toFixed(1)} ms`;
  return `${times}, ${Math.round(of((one) => one.cpuMicros))} µs`;
}

async function measure(bench: Bench, servers: Servers, name: Operation, next: (at: number) => Shot): Promise<Figure[]> {
  for (const side of SIDES) await repetition(servers[side], next, bench.warmUpSeconds);
  const one = (side: keyof Servers) => async () => {
    if (name === 'create' || name === 'update') await cleanUp(bench.servers.databaseUrl);
    return repetition(servers[side], next, bench.seconds);
  };
  const results = await interleave({ belfry: one('belfry'), floor: one('floor'), lean: one('lean') }, bench.reps);
  const speed = (side: keyof Servers) => results[side].map((result) => result.perSecond);
  const note = (side: keyof Servers) => `p50/p99 and CPU ${describe(results.belfry)} to ${describe(results[side])}`;
  return [
    ratio(`records.${name}`, speed('belfry'), speed('floor'), note('floor')),
    ratio(`records.${name}.lean`, speed('belfry'), speed('lean'), note('lean')),
  ];
}

/** Compares requests on records: Belfry, the hand-written floor and the lean floor, each in its own process. */
export const records: Group = {
  name: 'records',
  async run(bench) {
    const names = (Object.keys(OPERATIONS) as Operation[]).filter(
      (name) => bench.wants(`records.${name}`) || bench.wants(`records.${name}.lean`),
    );
    if (names.length === 0) return [];
    const database = { DATABASE_URL: bench.servers.databaseUrl, NODE_ENV: 'production' };
    const servers: Servers = {
      belfry: await startBelfry(bench, 'web'),
      floor: await bench.children.start(new URL('../../baselines/handwritten-api.ts', import.meta.url), database),
      lean: await bench.children.start(new URL('../../baselines/lean-api.ts', import.meta.url), database),
    };
    await assertSameAnswers(SIDES.map((side) => servers[side].url));
    const figures: Figure[] = [];
    for (const name of names) {
      bench.say(`records.${name} …`);
      figures.push(...(await measure(bench, servers, name, OPERATIONS[name])));
    }
    const megabytes = async (side: keyof Servers) => Math.round((await servers[side].ask<number>('memory')) / 2 ** 20);
    const memory = await Promise.all(SIDES.map(async (side) => `${side} ${await megabytes(side)} MB`));
    bench.say(`memory after load: ${memory.join(', ')}`);
    await Promise.all(SIDES.map((side) => servers[side].stop()));
    await cleanUp(bench.servers.databaseUrl);
    return figures.filter((figure) => bench.wants(figure.name));
  },
};
