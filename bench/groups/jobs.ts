import { type Bench, createRatio, type Group } from '../figure.ts';
import { runInterleaved } from '../measure/interleave.ts';
import type { Child } from '../setup/children.ts';
import { createBelfryEnvironment } from '../setup/environment.ts';

const JOBS = 5000;

async function measureRates(child: Child): Promise<{ enqueued: number; run: number }> {
  const enqueueMs = await child.call<number>('enqueue', JOBS);
  const runMs = await child.call<number>('run', JOBS);
  return { enqueued: JOBS / (enqueueMs / 1000), run: JOBS / (runMs / 1000) };
}

async function measure(bench: Bench, belfry: Child, bullmq: Child) {
  const sides = { belfry: () => measureRates(belfry), baseline: () => measureRates(bullmq) };
  await runInterleaved(sides, 1);
  return runInterleaved(sides, bench.reps);
}

/** Compares background jobs that do nothing, enqueued and run per second, to those of BullMQ alone. */
export const jobs: Group = {
  name: 'jobs',
  async run(bench) {
    if (!['jobs.enqueue', 'jobs.run'].some(bench.isRequested)) return [];
    bench.logProgress('jobs …');
    const environment = createBelfryEnvironment(bench.servers);
    const [belfry, bullmq] = await Promise.all([
      bench.children.start(new URL('../processes/jobs.ts', import.meta.url), environment),
      bench.children.start(new URL('../baselines/bullmq.ts', import.meta.url), environment),
    ]);
    try {
      const rounds = await measure(bench, belfry, bullmq);
      const ratioOf = (what: 'enqueued' | 'run', name: string, note: string) =>
        createRatio(
          name,
          rounds.belfry.map((round) => round[what]),
          rounds.baseline.map((round) => round[what]),
          note,
        );
      return [
        ratioOf('enqueued', 'jobs.enqueue', 'a row and a pointer to it, to a job in Redis'),
        ratioOf('run', 'jobs.run', 'claimed and finished in Postgres, to jobs in Redis'),
      ].filter(({ name }) => bench.isRequested(name));
    } finally {
      await Promise.all([belfry.stop(), bullmq.stop()]);
    }
  },
};
