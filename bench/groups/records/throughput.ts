import { type Bench, createRatio, type Figure, type Group } from '../../figure.ts';
import { runInterleaved } from '../../measure/interleave.ts';
import { type LoadRequest, runLoad, type Throughput } from '../../measure/load.ts';
import { median } from '../../measure/statistics.ts';
import { startBelfry } from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { resetDatabase } from '../../setup/database.ts';
import { OPERATIONS, type Operation } from './operations.ts';
import { assertSameResponses } from './same-responses.ts';

const CONNECTIONS = 20;
const SIDES = ['belfry', 'handwritten', 'lean'] as const;

type Servers = Record<(typeof SIDES)[number], Child>;

/** A repetition, with the server's CPU time per request, which noise of the machine hardly affects. */
interface Repetition extends Throughput {
  cpuMicros: number;
}

async function measureRepetition(
  server: Child,
  createRequest: (at: number) => LoadRequest,
  seconds: number,
): Promise<Repetition> {
  const before = await server.call<number>('cpu');
  const result = await runLoad(server.url, createRequest, { connections: CONNECTIONS, seconds });
  const after = await server.call<number>('cpu');
  return { ...result, cpuMicros: (after - before) / result.requests };
}

function describeRepetitions(results: readonly Repetition[]): string {
  const medianOf = (pick: (result: Repetition) => number) => median(results.map(pick));
  const times = `${medianOf(({ p50 }) => p50).toFixed(1)}/${medianOf(({ p99 }) => p99).toFixed(1)} ms`;
  return `${times}, ${Math.round(medianOf(({ cpuMicros }) => cpuMicros))} µs`;
}

async function measure(
  bench: Bench,
  servers: Servers,
  name: Operation,
  createRequest: (at: number) => LoadRequest,
): Promise<Figure[]> {
  for (const side of SIDES) await measureRepetition(servers[side], createRequest, bench.warmUpSeconds);
  const createRun = (side: keyof Servers) => async () => {
    if (name === 'create' || name === 'update') await resetDatabase(bench.servers.databaseUrl);
    return measureRepetition(servers[side], createRequest, bench.seconds);
  };
  const results = await runInterleaved(
    { belfry: createRun('belfry'), handwritten: createRun('handwritten'), lean: createRun('lean') },
    bench.reps,
  );
  const getSpeeds = (side: keyof Servers) => results[side].map((result) => result.perSecond);
  const createNote = (side: keyof Servers) =>
    `p50/p99 and CPU ${describeRepetitions(results.belfry)} to ${describeRepetitions(results[side])}`;
  return [
    createRatio(`records.${name}`, getSpeeds('belfry'), getSpeeds('handwritten'), createNote('handwritten')),
    createRatio(`records.${name}.lean`, getSpeeds('belfry'), getSpeeds('lean'), createNote('lean')),
  ];
}

/** Compares requests on records: Belfry, the handwritten API and the lean API, each in its own process. */
export const recordsThroughput: Group = {
  name: 'records',
  async run(bench) {
    const names = (Object.keys(OPERATIONS) as Operation[]).filter(
      (name) => bench.isRequested(`records.${name}`) || bench.isRequested(`records.${name}.lean`),
    );
    if (names.length === 0) return [];
    const database = { DATABASE_URL: bench.servers.databaseUrl, NODE_ENV: 'production' };
    const servers: Servers = {
      belfry: await startBelfry(bench, 'web'),
      handwritten: await bench.children.start(new URL('../../baselines/handwritten-api.ts', import.meta.url), database),
      lean: await bench.children.start(new URL('../../baselines/lean-api.ts', import.meta.url), database),
    };
    await assertSameResponses(SIDES.map((side) => servers[side].url));
    const figures: Figure[] = [];
    for (const name of names) {
      bench.logProgress(`records.${name} …`);
      figures.push(...(await measure(bench, servers, name, OPERATIONS[name])));
    }
    const getMegabytes = async (side: keyof Servers) =>
      Math.round((await servers[side].call<number>('memory')) / 2 ** 20);
    const memory = await Promise.all(SIDES.map(async (side) => `${side} ${await getMegabytes(side)} MB`));
    bench.logProgress(`memory after load: ${memory.join(', ')}`);
    await Promise.all(SIDES.map((side) => servers[side].stop()));
    await resetDatabase(bench.servers.databaseUrl);
    return figures.filter((figure) => bench.isRequested(figure.name));
  },
};
