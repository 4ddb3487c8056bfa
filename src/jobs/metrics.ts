import { Counter, Gauge, Histogram } from 'prom-client';
import type { WorkLine } from '../platform/observability/log-work.ts';
import type { Metrics } from '../platform/observability/metrics.ts';

/** Histogram buckets in seconds. */
const SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600, 3600];
const OUTCOMES = ['succeeded', 'retry', 'failed', 'released', 'lost'];

/** The metrics of jobs. */
export interface JobMetrics {
  /** Exports the series of these jobs before their first run, so that Prometheus sees the first failure as an increase. */
  registerRuns(names: Iterable<string>): void;
  /** Counts a run. */
  countRun(name: string, line: WorkLine): void;
  /**
   * Sets the gauges of open jobs. The relay calls it.
   *
   * @param declared the names of the declared jobs; each has a series even without open jobs
   * @param rows the open jobs by name and status, with the age of the oldest one that is due
   */
  setState(
    declared: readonly string[],
    rows: readonly (readonly [name: string, status: string, count: number, oldestSeconds: number | null])[],
  ): void;
}

/** Registers the metrics of jobs. */
export function createJobMetrics({ registry }: Metrics): JobMetrics {
  const registers = [registry];
  const open = new Gauge({
    name: 'belfry_background_jobs',
    help: 'Jobs that are waiting or running, by name and status.',
    labelNames: ['job', 'status'],
    registers,
  });
  const oldest = new Gauge({
    name: 'belfry_background_jobs_oldest_seconds',
    help: 'Time for which the oldest job that is due has been waiting, by name.',
    labelNames: ['job'],
    registers,
  });
  const undeclared = new Gauge({
    name: 'belfry_background_jobs_undeclared',
    help: 'Jobs that wait although the app has no declaration with their name.',
    registers,
  });
  const runs = new Counter({
    name: 'belfry_background_job_runs_total',
    help: `Runs of jobs, by name and outcome: ${OUTCOMES.join(', ')}.`,
    labelNames: ['job', 'outcome'],
    registers,
  });
  const seconds = new Histogram({
    name: 'belfry_background_job_seconds',
    help: 'Duration of these runs.',
    labelNames: ['job'],
    buckets: SECONDS,
    registers,
  });
  // Finding the series of labels takes longer than counting.
  const countersOfJob = new Map<
    string,
    { outcomes: Map<string, Counter.Internal>; seconds: Histogram.Internal<'job'> }
  >();
  return {
    registerRuns(names) {
      for (const job of names) {
        const outcomes = new Map(OUTCOMES.map((outcome) => [outcome, runs.labels({ job, outcome })]));
        for (const counter of outcomes.values()) counter.inc(0);
        countersOfJob.set(job, { outcomes, seconds: seconds.labels({ job }) });
      }
    },
    countRun(job, { outcome, durationMs }) {
      const counters = countersOfJob.get(job)!;
      counters.outcomes.get(outcome)!.inc();
      counters.seconds.observe(durationMs / 1000);
    },
    setState(declared, rows) {
      open.reset();
      oldest.reset();
      for (const job of declared) {
        for (const status of ['waiting', 'running']) open.set({ job, status }, 0);
        oldest.set({ job }, 0);
      }
      let unknown = 0;
      for (const [job, status, count, seconds] of rows) {
        if (!declared.includes(job)) {
          unknown += count;
          continue;
        }
        open.set({ job, status }, count);
        if (status === 'waiting') oldest.set({ job }, seconds ?? 0);
      }
      undeclared.set(unknown);
    },
  };
}
