import { type Bench, createRatio, type Figure, type Group } from '../figure.ts';
import { runInterleaved } from '../measure/interleave.ts';
import { installPeer } from '../peers/install.ts';
import { withOwnDatabase } from '../setup/database.ts';
import { createBelfryEnvironment } from '../setup/environment.ts';

/** Enough for a run of about a second. */
const JOBS = 20_000;
const GRAPHILE_LOCAL_QUEUE = '500';
const FIGURES = ['jobs.enqueue', 'jobs.run', 'jobs.run.bullmq'];

/** Jobs per second. */
interface Rates {
  enqueued: number;
  run: number;
}

async function startSides(bench: Bench, graphileDatabase: string) {
  const environment = createBelfryEnvironment(bench.servers);
  const graphile = { ...environment, DATABASE_URL: graphileDatabase, LOCAL_QUEUE: GRAPHILE_LOCAL_QUEUE };
  const start = (file: string, env: Record<string, string>) =>
    bench.children.start(new URL(file, import.meta.url), env);
  return {
    belfry: await start('../processes/jobs.ts', environment),
    graphile: await start('../peers/processes/graphile-worker.ts', graphile),
    bullmq: await start('../baselines/bullmq.ts', environment),
  };
}

async function measure(bench: Bench, graphileDatabase: string): Promise<Record<keyof Sides, Rates[]>> {
  const children = await startSides(bench, graphileDatabase);
  const measureRates = (name: keyof Sides) => async (): Promise<Rates> => {
    const enqueueMs = await children[name].call<number>('enqueue', JOBS);
    const runMs = await children[name].call<number>('run', JOBS);
    return { enqueued: JOBS / (enqueueMs / 1000), run: JOBS / (runMs / 1000) };
  };
  const sides = { belfry: measureRates('belfry'), graphile: measureRates('graphile'), bullmq: measureRates('bullmq') };
  try {
    await runInterleaved(sides, 1);
    return await runInterleaved(sides, bench.reps);
  } finally {
    await Promise.all(Object.values(children).map((child) => child.stop()));
  }
}

type Sides = Awaited<ReturnType<typeof startSides>>;

/** Compares background jobs that do nothing, enqueued and run per second, to those of graphile-worker and of BullMQ alone. */
export const jobs: Group = {
  name: 'jobs',
  async run(bench): Promise<Figure[]> {
    if (!FIGURES.some(bench.isRequested)) return [];
    bench.logProgress('jobs …');
    await installPeer('graphile-worker', bench.logProgress);
    const rounds = await withOwnDatabase(bench, 'bench_graphile_worker', ({ servers }) =>
      measure(bench, servers.databaseUrl),
    );
    const compare = (name: string, what: keyof Rates, other: keyof Sides, note: string) =>
      createRatio(
        name,
        rounds.belfry.map((round) => round[what]),
        rounds[other].map((round) => round[what]),
        note,
      );
    return [
      compare('jobs.enqueue', 'enqueued', 'bullmq', 'a row in Postgres, to a job in Redis'),
      compare('jobs.run', 'run', 'graphile', 'to graphile-worker with its local queue and batches'),
      compare('jobs.run.bullmq', 'run', 'bullmq', 'claimed and finished in Postgres, to jobs in Redis'),
    ].filter(({ name }) => bench.isRequested(name));
  },
};
