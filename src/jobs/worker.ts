import { retryWhileUnavailable } from '../platform/data/postgres/retry.ts';
import { LazyAbort } from '../platform/helpers/concurrency/lazy-abort.ts';
import { createWorkLogger } from '../platform/observability/log-work.ts';
import type { Platform } from '../platform/platform.ts';
import { createLeaseRunner } from '../platform/work/leased-work/job.ts';
import { createLeaseRenewals } from '../platform/work/leased-work/lease.ts';
import { LocalQueue, type Slot } from '../platform/work/leased-work/local-queue.ts';
import { addJitter, getExponentialWait } from '../platform/work/leased-work/retry-schedule.ts';
import type { RunningWorker } from '../platform/work/queues/queues.ts';
import { runJobInSpan } from '../platform/work/queues/tracing.ts';
import type { CompiledJob, CompiledJobs } from './declarations/declarations.ts';
import { toErrorText } from './declarations/values.ts';
import type { JobMetrics } from './metrics.ts';
import { createQueueEntries, createWakeUp, queueOfJob } from './queue/queue.ts';
import { createJobRunner, FailedRun, PermanentFailure, type RunDependencies, STOPPING } from './run.ts';
import { type ClaimedJob, createJobStore, type JobStore } from './store.ts';

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
  const stored = createJobStore(database);
  const stopping = new LazyAbort();
  const patiently =
    <Args extends unknown[], T>(statement: (...args: Args) => Promise<T>) =>
    (...args: Args) =>
      retryWhileUnavailable(database, () => statement(...args));
  // Work that is done must not be repeated only because Postgres was down for a while.
  const store: JobStore = {
    ...stored,
    claim: patiently(stored.claim),
    start: patiently(stored.start),
    finish: patiently(stored.finish),
    release: patiently(stored.release),
  };
  const runner = createJobRunner({ ...runs, store, log, stopping });
  const renewals = createLeaseRenewals<ClaimedJob>({
    everyMs: RENEW_EVERY_MS,
    what: 'jobs',
    log,
    renew: store.renew,
    database,
  });
  const logWork = createWorkLogger({ log, settings, metrics });

  /** Stores a failed attempt. Returns whether it is retried. */
  async function storeFailure({ name, retry }: CompiledJob, claimed: ClaimedJob, { cause, progress }: FailedRun) {
    const error = toErrorText(cause);
    if (cause instanceof PermanentFailure || claimed.attempt >= retry.attempts) {
      await stored.finish(claimed, { status: 'failed', result: null, error, progress });
      return { outcome: 'failed' };
    }
    const wait = getExponentialWait(claimed.attempt, { first: retry.firstDelayMs, max: retry.maxDelayMs });
    const delayMs = addJitter(wait);
    await store.retryLater(claimed, { error, progress }, delayMs);
    void queues.add(queueOfJob(name), createQueueEntries([{ ...claimed, delayMs }]));
    return { outcome: 'retry', retryInMs: delayMs };
  }

  function createRun(job: CompiledJob, queue: string) {
    const slots = new WeakMap<ClaimedJob, Slot>();
    const runClaimed = createLeaseRunner<ClaimedJob>(
      {
        unit: 'job',
        database,
        renewals,
        async run(claimed, abort) {
          const trace = claimed.trace ?? undefined;
          const slot = slots.get(claimed)!;
          const result = await runJobInSpan(tracing, queue, { trace }, () => runner.run(job, claimed, slot, abort));
          if (result.outcome === 'released') void queues.add(queue, [createWakeUp(claimed.id)]);
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
    return (claimed: ClaimedJob, slot: Slot) => {
      slots.set(claimed, slot);
      return runClaimed(claimed);
    };
  }

  /** Creates the local queue of a kind of job. */
  function createLocalQueue(job: CompiledJob, queue: string): LocalQueue<ClaimedJob> {
    const { name, concurrency, retry } = job;
    const onError = (error: unknown) => log.error({ err: error, queue }, 'a job failed');
    const run = createRun(job, queue);
    const local: LocalQueue<ClaimedJob> = new LocalQueue<ClaimedJob>({
      concurrency,
      async claim(request) {
        const claimed = await store.claim({ ...request, name, maxAttempts: retry.attempts });
        for (const lease of claimed.leases) renewals.add(lease, () => drop(lease));
        return claimed;
      },
      run: (claimed, slot) => run(claimed, slot).catch(onError),
      async release(claimed) {
        for (const lease of claimed) renewals.remove(lease);
        await store.release(claimed);
        await queues.add(queue, [createWakeUp(claimed[0]!.id)]);
      },
      onMore: () => queues.announce(queue, [name]),
      onError,
    });
    const drop = (lease: ClaimedJob) => {
      renewals.remove(lease);
      local.drop(lease);
    };
    return local;
  }

  /** Starts the worker of a kind of job. An entry of its queue means that there is work; earlier versions add one for each job. */
  function startQueue(job: CompiledJob): RunningWorker {
    const queue = queueOfJob(job.name);
    const local = createLocalQueue(job, queue);
    let isStopping = false;
    const worker = queues.work(
      queue,
      ({ data }) => (isStopping ? queues.add(queue, [createWakeUp(data.id)], true) : local.wake(data.id)),
      job.concurrency,
    );
    // Another worker has more work than it can do soon.
    const stopListening = queues.listen(queue, () => void local.wake().catch(() => undefined));
    return {
      ...worker,
      async stop() {
        isStopping = true;
        stopListening();
        await Promise.all([worker.stop(), local.stop()]);
      },
    };
  }

  jobMetrics.registerRuns(jobs.keys());
  const workers = [...jobs.values()].map(startQueue);
  return {
    isRunning: () => workers.every(({ isRunning }) => isRunning?.() !== false),
    async stop() {
      const giveUp = setTimeout(() => stopping.abort(STOPPING), settings.graceMs);
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
