import { retryWhileUnavailable } from '../platform/data/postgres/retry.ts';
import { createWorkLogger } from '../platform/observability/log-work.ts';
import type { Platform } from '../platform/platform.ts';
import { createLeasedJob } from '../platform/work/leased-work/job.ts';
import { createLeaseRenewals } from '../platform/work/leased-work/lease.ts';
import { addJitter, getExponentialWait } from '../platform/work/leased-work/retry-schedule.ts';
import type { RunningWorker } from '../platform/work/queues/queues.ts';
import { runJobInSpan } from '../platform/work/queues/tracing.ts';
import type { CompiledJob, CompiledJobs } from './declarations/declarations.ts';
import { toErrorText } from './declarations/values.ts';
import type { JobMetrics } from './metrics.ts';
import { createQueueEntries, queueOfJob } from './queue/queue.ts';
import { createJobRunner, FailedRun, PermanentFailure, type RunDependencies } from './run.ts';
import { type ClaimedJob, createJobStore } from './store.ts';

/** Also the longest time until a run learns that its job was cancelled. */
const RENEW_EVERY_MS = 5000;

/** What the worker needs. */
type JobWorkerDependencies = Pick<Platform, 'settings' | 'log' | 'metrics' | 'database' | 'queues' | 'tracing'>;

/**
 * Starts the worker of all jobs in this process. Each job has its own queue.
 *
 * @param runs what every run gets
 */
export function startJobWorker(
  { settings, log, metrics, database, queues, tracing }: JobWorkerDependencies,
  jobs: CompiledJobs,
  runs: Pick<RunDependencies, 'loadUser' | 'context'>,
  jobMetrics: JobMetrics,
): RunningWorker {
  const store = createJobStore(database);
  const stopping = new AbortController();
  const storing = {
    ...store,
    // The work is done, so it must not be repeated only because the result could not be stored.
    finish: (...args: Parameters<typeof store.finish>) => retryWhileUnavailable(database, () => store.finish(...args)),
    release: (job: ClaimedJob) => retryWhileUnavailable(database, () => store.release(job)),
  };
  const runner = createJobRunner({ ...runs, store: storing, log, stopping: stopping.signal });
  const renewals = createLeaseRenewals<ClaimedJob>({
    everyMs: RENEW_EVERY_MS,
    what: 'jobs',
    log,
    renew: store.renew,
    database,
  });
  const logWork = createWorkLogger({ log, settings, metrics });

  function addNextEntry({ id, name, claims }: ClaimedJob, delayMs: number): void {
    void queues.add(queueOfJob(name), createQueueEntries([{ id, claims, delayMs }]));
  }

  /** Stores a failed attempt. Returns whether it is retried. */
  async function storeFailure({ retry }: CompiledJob, claimed: ClaimedJob, { cause, progress }: FailedRun) {
    const error = toErrorText(cause);
    if (cause instanceof PermanentFailure || claimed.attempt >= retry.attempts) {
      await store.finish(claimed, { status: 'failed', result: null, error, progress });
      return { outcome: 'failed' };
    }
    const wait = getExponentialWait(claimed.attempt, { first: retry.firstDelayMs, max: retry.maxDelayMs });
    const delayMs = addJitter(wait);
    await store.retryLater(claimed, { error, progress }, delayMs);
    addNextEntry(claimed, delayMs);
    return { outcome: 'retry', retryInMs: delayMs };
  }

  function startQueue(job: CompiledJob) {
    const queue = queueOfJob(job.name);
    const runJob = createLeasedJob<ClaimedJob>(
      {
        unit: 'job',
        database,
        claim: store.claim,
        renewals,
        async run(claimed, lost) {
          const trace = claimed.trace ?? undefined;
          const result = await runJobInSpan(tracing, queue, { trace }, () => runner.run(job, claimed, lost));
          if (result.outcome === 'released') addNextEntry(claimed, 0);
          return result;
        },
        fail: (claimed, error) =>
          storeFailure(job, claimed, error instanceof FailedRun ? error : new FailedRun(error, null)),
        describe: ({ id, attempt }) => ({ job: id, name: job.name, attempt }),
        describeError: (error) => {
          const cause = error instanceof FailedRun ? error.cause : error;
          return cause instanceof PermanentFailure ? { error: cause.message } : { err: toLoggableError(cause) };
        },
      },
      (unit, line, options) => {
        jobMetrics.countRun(job.name, line);
        logWork(unit, line, options);
      },
    );
    return queues.work(queue, ({ data }) => runJob(data.id), job.concurrency);
  }

  jobMetrics.registerRuns(jobs.keys());
  const workers = [...jobs.values()].map(startQueue);
  return {
    isRunning: () => workers.every(({ isRunning }) => isRunning?.() !== false),
    async stop() {
      const giveUp = setTimeout(() => stopping.abort(), settings.graceMs);
      await Promise.all(workers.map((worker) => worker.stop()));
      clearTimeout(giveUp);
      renewals.stop();
    },
  };
}

/** Returns an error that the log can serialize, whatever a job threw. */
function toLoggableError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(toErrorText(thrown));
}
