import { retryWhileUnavailable } from '../platform/data/postgres/retry.ts';
import { LazyAbort } from '../platform/helpers/concurrency/lazy-abort.ts';
import { createWorkLogger } from '../platform/observability/log-work.ts';
import type { Platform } from '../platform/platform.ts';
import { createLeaseRenewals } from '../platform/work/leased-work/lease.ts';
import { LocalQueue } from '../platform/work/leased-work/local-queue.ts';
import type { RunningWorker } from '../platform/work/queues/queues.ts';
import { createAttempt } from './attempts.ts';
import type { CompiledJob, CompiledJobs } from './declarations/declarations.ts';
import type { JobMetrics } from './metrics.ts';
import { createQueueEntries, createRowEntry, createWakeUp, queueOfJob, WAKE_UP } from './queue/queue.ts';
import { createJobRunner, type RunDependencies, STOPPING } from './run.ts';
import { type ClaimedJob, createJobStore, type JobStore } from './store.ts';

/** Also the longest time until a run learns that its job was cancelled. */
const RENEW_EVERY_MS = 5000;

/** What the worker needs. */
type JobWorkerDependencies = Pick<Platform, 'settings' | 'log' | 'metrics' | 'database' | 'queues' | 'tracing'>;

/** Creates a store whose statements wait while Postgres is down: work that is done must not be repeated only because of that. */
function createPatientStore(database: Platform['database']): JobStore {
  const store = createJobStore(database);
  const patiently =
    <Args extends unknown[], T>(statement: (...args: Args) => Promise<T>) =>
    (...args: Args) =>
      retryWhileUnavailable(database, () => statement(...args));
  return {
    ...store,
    claim: patiently(store.claim),
    start: patiently(store.start),
    finish: patiently(store.finish),
    release: patiently(store.release),
  };
}

/**
 * Starts the worker of all jobs in this process. Each job has its own queue.
 *
 * @param runs what every run gets
 */
export function startJobWorker(
  platform: JobWorkerDependencies,
  jobs: CompiledJobs,
  runs: Pick<RunDependencies, 'loadUser' | 'context'>,
  jobMetrics: JobMetrics,
): RunningWorker {
  const { settings, log, metrics, database, queues } = platform;
  const store = createPatientStore(database);
  const stopping = new LazyAbort();
  const renewals = createLeaseRenewals<ClaimedJob>({
    everyMs: RENEW_EVERY_MS,
    what: 'jobs',
    log,
    renew: store.renew,
    database,
  });
  const runner = createJobRunner({ ...runs, store, log, stopping });
  const logWork = createWorkLogger({ log, settings, metrics });
  const attemptDependencies = { ...platform, store, runner, renewals, logWork, metrics: jobMetrics };

  /** Creates the local queue of a kind of job. */
  function createLocalQueue(job: CompiledJob, onError: (error: unknown) => void): LocalQueue<ClaimedJob> {
    const { name, concurrency, retry } = job;
    const queue = queueOfJob(name);
    const attempt = createAttempt(job, attemptDependencies);
    const local: LocalQueue<ClaimedJob> = new LocalQueue<ClaimedJob>({
      concurrency,
      async claim(request) {
        const claimed = await store.claim({ ...request, name, maxAttempts: retry.attempts });
        for (const lease of claimed.leases) renewals.add(lease, () => drop(lease));
        return claimed;
      },
      run: (claimed, slot) => attempt(claimed, slot).catch(onError),
      async release(claimed) {
        for (const lease of claimed) renewals.remove(lease);
        const first = await store.release(name, claimed);
        if (first !== undefined) await queues.add(queue, createQueueEntries([first]), true);
      },
      onMore: (ids) => queues.announce(queue, ids.length > 0 ? ids : [name]),
      onError,
    });
    const drop = (lease: ClaimedJob) => {
      renewals.remove(lease);
      local.drop(lease);
    };
    return local;
  }

  /** Starts the worker of a kind of job. An entry of its queue means that there is work. Earlier versions add one for each job. */
  function startQueue(job: CompiledJob): RunningWorker {
    const queue = queueOfJob(job.name);
    const onError = (error: unknown) => log.error({ err: error, queue }, 'a job failed');
    const local = createLocalQueue(job, onError);
    const wake = (id: string) => void local.wake({ id: id === job.name ? undefined : id, isHint: true }).catch(onError);
    let isStopping = false;
    const worker = queues.work(
      queue,
      ({ name, data: { id } }) =>
        isStopping
          ? queues.add(queue, [name === WAKE_UP ? createWakeUp(id) : createRowEntry(id)], true)
          : local.wake({ id: name === WAKE_UP ? undefined : id }),
      job.concurrency,
    );
    // Another worker has more work than it can do soon.
    const stopListening = queues.listen(queue, wake);
    // The entry of jobs that wait may have been handled by a worker that has died since.
    wake(job.name);
    return {
      ...worker,
      async stop() {
        isStopping = true;
        stopListening();
        const [, ids] = await Promise.all([worker.stop(), local.stop()]);
        if (ids.length > 0) await queues.add(queue, ids.map(createRowEntry), true);
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
