import type { LogWork } from '../platform/observability/log-work.ts';
import type { Platform } from '../platform/platform.ts';
import { createLeaseRunner } from '../platform/work/leased-work/job.ts';
import type { LeaseRenewals } from '../platform/work/leased-work/lease.ts';
import type { Slot } from '../platform/work/leased-work/local-queue.ts';
import { addJitter, getExponentialWait } from '../platform/work/leased-work/retry-schedule.ts';
import { runJobInSpan } from '../platform/work/queues/tracing.ts';
import type { CompiledJob } from './declarations/declarations.ts';
import { toErrorText } from './declarations/values.ts';
import type { JobMetrics } from './metrics.ts';
import { createQueueEntries, queueOfJob } from './queue/queue.ts';
import { FailedRun, type JobRunner, PermanentFailure } from './run.ts';
import type { ClaimedJob, JobStore } from './store.ts';

interface AttemptDependencies extends Pick<Platform, 'database' | 'queues' | 'tracing'> {
  store: JobStore;
  runner: JobRunner;
  renewals: LeaseRenewals<ClaimedJob>;
  logWork: LogWork;
  metrics: JobMetrics;
}

/** Returns an error that the log can serialize, whatever a job threw. */
function toLoggableError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(toErrorText(thrown));
}

/** Creates the function that runs claimed jobs of one kind: it stores the result or the failure, logs a line, and counts the run. */
export function createAttempt(
  job: CompiledJob,
  { database, queues, tracing, store, runner, renewals, logWork, metrics }: AttemptDependencies,
): (claimed: ClaimedJob, slot: Slot) => Promise<unknown> {
  const queue = queueOfJob(job.name);
  const slots = new WeakMap<ClaimedJob, Slot>();

  /** Stores a failed attempt. Returns whether it is retried. */
  async function storeFailure(claimed: ClaimedJob, { cause, progress }: FailedRun) {
    const { retry } = job;
    const error = toErrorText(cause);
    if (cause instanceof PermanentFailure || claimed.attempt >= retry.attempts) {
      await store.finish(claimed, { status: 'failed', result: null, error, progress });
      return { outcome: 'failed' };
    }
    const wait = getExponentialWait(claimed.attempt, { first: retry.firstDelayMs, max: retry.maxDelayMs });
    const delayMs = addJitter(wait);
    await store.retryLater(claimed, { error, progress }, delayMs);
    void queues.add(queue, createQueueEntries([{ ...claimed, delayMs }]));
    return { outcome: 'retry', retryInMs: delayMs };
  }

  const runClaimed = createLeaseRunner<ClaimedJob>(
    {
      unit: 'job',
      database,
      renewals,
      async run(claimed, abort) {
        const trace = claimed.trace ?? undefined;
        const slot = slots.get(claimed)!;
        const result = await runJobInSpan(tracing, queue, { trace }, () => runner.run(job, claimed, slot, abort));
        if (result.outcome === 'released') void queues.add(queue, createQueueEntries([claimed]));
        return result;
      },
      fail: (claimed, error) => storeFailure(claimed, error instanceof FailedRun ? error : new FailedRun(error, null)),
      describe: ({ id, attempt }) => ({ job: id, name: job.name, attempt }),
      describeError: (error) => {
        const cause = error instanceof FailedRun ? error.cause : error;
        return cause instanceof PermanentFailure ? { error: cause.message } : { err: toLoggableError(cause) };
      },
    },
    (unit, line, options) => {
      metrics.countRun(job.name, line);
      logWork(unit, line, options);
    },
  );
  return (claimed, slot) => {
    slots.set(claimed, slot);
    return runClaimed(claimed);
  };
}
