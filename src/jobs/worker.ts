import { retryWhileUnavailable } from '../platform/data/postgres/retry.ts';
import { LazyAbort } from '../platform/helpers/concurrency/lazy-abort.ts';
import { createWorkLogger } from '../platform/observability/log-work.ts';
import type { Platform } from '../platform/platform.ts';
import { createLeaseRenewals, type LeaseRenewals } from '../platform/work/leased-work/lease.ts';
import { LocalQueue } from '../platform/work/leased-work/local-queue.ts';
import type { RunningWorker } from '../platform/work/queues/queues.ts';
import { createAttempt } from './attempts.ts';
import type { CompiledJob, CompiledJobs } from './declarations/declarations.ts';
import type { JobMetrics } from './metrics.ts';
import { createQueueEntries, createRowEntry, createWakeUp, queueOfJob, WAKE_UP } from './queue/queue.ts';
import { JobRunner, type RunDependencies, STOPPING } from './run.ts';
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

/** What the workers of all kinds share. */
interface SharedParts extends Pick<JobWorkerDependencies, 'log' | 'queues'> {
  store: JobStore;
  renewals: LeaseRenewals<ClaimedJob>;
  createAttempt(job: CompiledJob): ReturnType<typeof createAttempt>;
}

/** The worker of a kind of job. An entry of its queue means that there is work. Earlier versions add one for each job. */
class KindWorker implements RunningWorker {
  readonly #name: string;
  readonly #queue: string;
  readonly #shared: SharedParts;
  readonly #local: LocalQueue<ClaimedJob>;
  readonly #worker: RunningWorker;
  readonly #stopListening: () => void;
  #isStopping = false;

  constructor(job: CompiledJob, shared: SharedParts) {
    this.#name = job.name;
    this.#queue = queueOfJob(job.name);
    this.#shared = shared;
    this.#local = this.#createLocalQueue(job);
    this.#worker = shared.queues.work(
      this.#queue,
      ({ name, data }) => this.#handleEntry(name === WAKE_UP, data.id),
      job.concurrency,
    );
    // Another worker has more work than it can do soon.
    this.#stopListening = shared.queues.listen(this.#queue, (id) => this.#wake(id));
    // The entry of jobs that wait may have been handled by a worker that has died since.
    this.#wake(job.name);
  }

  isRunning(): boolean {
    return this.#worker.isRunning?.() !== false;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#stopListening();
    const [, ids] = await Promise.all([this.#worker.stop(), this.#local.stop()]);
    if (ids.length > 0) await this.#shared.queues.add(this.#queue, ids.map(createRowEntry), true);
  }

  #createLocalQueue(job: CompiledJob): LocalQueue<ClaimedJob> {
    const { name, concurrency, retry } = job;
    const { store, queues, renewals, createAttempt } = this.#shared;
    const attempt = createAttempt(job);
    return new LocalQueue<ClaimedJob>({
      concurrency,
      claim: async (request) => {
        const claimed = await store.claim({ ...request, name, maxAttempts: retry.attempts });
        for (const lease of claimed.leases) renewals.add(lease, () => this.#drop(lease));
        return claimed;
      },
      run: (claimed, slot) => attempt(claimed, slot).catch(this.#logError),
      release: async (claimed) => {
        for (const lease of claimed) renewals.remove(lease);
        const first = await store.release(name, claimed);
        if (first !== undefined) await queues.add(this.#queue, createQueueEntries([first]), true);
      },
      onMore: (ids) => queues.announce(this.#queue, ids.length > 0 ? ids : [name]),
      onError: this.#logError,
    });
  }

  /** Handles an entry of the queue. @param id the row that it names */
  #handleEntry(isWakeUp: boolean, id: string): Promise<unknown> {
    if (!this.#isStopping) return this.#local.wake({ id: isWakeUp ? undefined : id });
    return this.#shared.queues.add(this.#queue, [isWakeUp ? createWakeUp(id) : createRowEntry(id)], true);
  }

  /** Looks for work. @param id that of a row, or the name of the kind */
  #wake(id: string): void {
    this.#local.wake({ id: id === this.#name ? undefined : id, isHint: true }).catch(this.#logError);
  }

  #drop(lease: ClaimedJob): void {
    this.#shared.renewals.remove(lease);
    this.#local.drop(lease);
  }

  #logError = (error: unknown) => this.#shared.log.error({ err: error, queue: this.#queue }, 'a job failed');
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
  const runner = new JobRunner({ ...runs, store, log, stopping });
  const logWork = createWorkLogger({ log, settings, metrics });
  const attemptDependencies = { ...platform, store, runner, renewals, logWork, metrics: jobMetrics };
  const shared: SharedParts = {
    ...{ log, queues, store, renewals },
    createAttempt: (job) => createAttempt(job, attemptDependencies),
  };
  jobMetrics.registerRuns(jobs.keys());
  const workers = [...jobs.values()].map((job) => new KindWorker(job, shared));
  return {
    isRunning: () => workers.every((worker) => worker.isRunning()),
    async stop() {
      const giveUp = setTimeout(() => stopping.abort(STOPPING), settings.graceMs);
      await Promise.all(workers.map((worker) => worker.stop()));
      clearTimeout(giveUp);
      renewals.stop();
    },
  };
}
