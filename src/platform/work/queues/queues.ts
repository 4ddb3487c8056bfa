import type { Job, JobsOptions, Queue } from 'bullmq';
import type { RedisConnections } from '../../data/redis/connections.ts';
import { withTimeoutFallback } from '../../helpers/concurrency/deadline.ts';
import { createLimitedWarning, type Warn } from '../../observability/limited-warning.ts';
import { type Logger, redactTokens } from '../../observability/log.ts';
import type { QueueFacts, QueueFailure } from '../processes/facts.ts';
import { loadBullmq } from './bullmq.ts';
import { createWorkerBackend } from './worker-backend.ts';
import { getWorkerClass } from './worker-class.ts';

/** The data of every job: the id of a row. */
export interface JobData {
  id: string;
  /** The id of the user that the job belongs to, so that a worker can share its capacity among users without a query. */
  owner?: string;
  /** The `traceparent` of the span that added the job, if it is recorded. */
  trace?: string;
}

/** A job to add: `name` is the kind of work, `data` refers to the row. */
export interface NewJob {
  name: string;
  data: JobData;
  opts?: JobsOptions;
}

/** A worker that is running. */
export interface RunningWorker {
  /** Stops accepting jobs and waits for those in progress, but not for a Redis that is down. */
  stop(): Promise<void>;
  /** Whether the worker still takes jobs, for the health check of its process. Default: it does. */
  isRunning?(): boolean;
}

/** A worker of a queue. */
export interface QueueWorker extends RunningWorker {
  /** Changes how many jobs run at once. */
  setConcurrency(concurrency: number): void;
}

/**
 * How a queue detects a crashed worker, in ms. Another worker takes over a job if its lock was not renewed for `lockDuration` and two
 * checks, one every `stalledInterval`, have found it stalled. A worker whose event loop is blocked for that long loses its jobs
 * in the same way, and they run again.
 */
interface StallDetection {
  lockDuration: number;
  stalledInterval: number;
}

/** The queues of one app. */
export interface Queues {
  /**
   * Adds jobs in one round trip. A failure (Redis is down) is deliberately logged and ignored: the rows are in Postgres,
   * and the sweep enqueues rows that have no job.
   *
   * @param isAnnounced whether to call the listeners of the queue first, in all processes, with the ids of the rows
   */
  add(queue: string, jobs: NewJob[], isAnnounced?: boolean): Promise<void>;
  /** Calls the listeners of a queue, in this and all other processes, with the ids of rows. Only a hint, which can be lost. */
  announce(queue: string, ids: readonly string[]): void;
  /**
   * Calls `listener` with the id of the row of each announced job, in this and all other processes. Only a hint, which can be lost.
   * Returns a function that stops the calls.
   */
  listen(queue: string, listener: (id: string) => void): () => void;
  /**
   * Runs `process` for each job, up to `concurrency` at once.
   *
   * @param stallDetection how soon other workers take over the jobs of a crashed worker; default: within 20 s
   */
  work(
    queue: string,
    process: (job: { name: string; data: JobData }) => Promise<unknown>,
    concurrency: number,
    stallDetection?: StallDetection,
  ): QueueWorker;
  /** Returns the names of the queues whose jobs this process runs. */
  workedQueues(): string[];
  /** Returns the queues whose jobs this process runs, with the running jobs and the newest failures. */
  activity(): QueueFacts[];
  /** Returns BullMQ's queue, for operations that `add` does not cover. */
  queue(name: string): Queue;
  close(): Promise<void>;
}

// Remove finished jobs at once: if a job id still exists, a later add of the same id is silently ignored.
const DEFAULT_JOB_OPTIONS: JobsOptions = { removeOnComplete: true, removeOnFail: true, attempts: 1 };

// Take over the jobs of a crashed worker within 20 s; BullMQ's default of 30 s + 30 s would delay them for a minute.
const STALL_DETECTION: StallDetection = { lockDuration: 15_000, stalledInterval: 5_000 };
const WORKER_OPTIONS = {
  // The takeovers of one job.
  maxStalledCount: 10,
  // s that an idle worker waits for a job before it checks the queue. A new job ends the wait, unless the worker that it woke died.
  drainDelay: 10,
  // ms after which BullMQ stores the result of a job again if Redis was unreachable.
  runRetryDelay: 2000,
};

// ms that a stopping worker waits for Redis after its last job, and that closing waits for jobs that are being added. A job whose result is not
// stored runs again, in another process.
const CLOSE_TIMEOUT_MS = 2000;
// ms that the first jobs of a process wait for the connection.
const CONNECT_TIMEOUT_MS = 2000;
// Errors repeat for each job and attempt while Redis is down.
const WARNING_INTERVAL_MS = 10_000;
/** The failures that a process keeps for each queue. */
const MAX_FAILURES = 10;
const MAX_ERROR_TEXT = 300;

/** All keys of a queue have the same hash tag, so that a Redis Cluster keeps them on one node, but each queue on another. */
const prefixOfQueue = (prefix: string, queue: string) => `${prefix}:{${queue}}`;

/** Counts the jobs in progress. */
function createJobCounter() {
  let running = 0;
  /** The ids of the jobs in progress whose locks this process still has. */
  const locked = new Set<string>();
  let wake: () => void = () => undefined;
  return {
    async run<T>(id: string, job: () => Promise<T>): Promise<T> {
      running += 1;
      locked.add(id);
      try {
        return await job();
      } finally {
        running -= 1;
        locked.delete(id);
        if (running === 0) wake();
      }
    },
    isLocked: (id: string) => locked.has(id),
    /** Called with the jobs whose locks were lost, so that another process may run them. */
    setLockLost(ids: readonly string[]) {
      for (const id of ids) locked.delete(id);
    },
    count: () => running,
    isIdle: () => running === 0,
    waitUntilIdle: () =>
      new Promise<void>((resolve) => {
        wake = resolve;
        if (running === 0) resolve();
      }),
  };
}

/** Why a job failed, without the reason: Redis keeps the message. `cause` has the reason, for the log of this process. */
class FailedJobError extends Error {
  override readonly cause: Error;

  constructor(cause: unknown) {
    super('see the log of the worker');
    this.cause = cause instanceof Error ? cause : new Error(String(cause));
  }
}

/**
 * Runs a job without leaving its result or error in Redis, whose stream of events keeps both after the job: a job only points to rows of
 * Postgres, and what it did may be about a person whose data is erased later.
 */
async function runWithoutTrace(process: () => Promise<unknown>): Promise<void> {
  try {
    await process();
  } catch (error) {
    throw new FailedJobError(error);
  }
}

const toFailure = (queue: string, job: Job | undefined, error: Error): QueueFailure => ({
  queue,
  id: job?.id ?? '',
  name: job?.name ?? '',
  error: redactTokens(error.message).slice(0, MAX_ERROR_TEXT),
  at: new Date().toISOString(),
});

/** Starts a worker of a queue. @param options `concurrency` and what `StallDetection` says */
function startWorker(
  redis: RedisConnections,
  { name, prefix }: { name: string; prefix: string },
  process: Parameters<Queues['work']>[1],
  options: StallDetection & { concurrency: number },
  warn: Warn,
  log: Logger,
): QueueWorker & { readFacts(): QueueFacts } {
  const failures: QueueFailure[] = [];
  const stopping = new AbortController();
  const counter = createJobCounter();
  const connection = redis.createBlockingConnection();
  const blocking = redis.createBlockingConnection();
  const Worker = getWorkerClass();
  const worker = new Worker(
    name,
    (job) => counter.run(job.id!, () => runWithoutTrace(() => process(job))),
    { connection, prefix, ...WORKER_OPTIONS, ...options },
    createWorkerBackend({
      ...{ connection, blocking, prefix, lockDuration: options.lockDuration },
      ...{ isOwnJob: counter.isLocked, stopping: stopping.signal },
    }),
  );
  worker.on('lockRenewalFailed', counter.setLockLost);
  worker.on('error', (error) => warn({ err: error, queue: name }, 'a worker reported an error'));
  worker.on('failed', (job, failure) => {
    const error = failure instanceof FailedJobError ? failure.cause : failure;
    log.error({ err: error, queue: name, job: job?.id }, 'a job failed');
    failures.unshift(toFailure(name, job, error));
    failures.splice(MAX_FAILURES);
  });
  return {
    readFacts: () => ({ name, running: counter.count(), concurrency: worker.concurrency, failures }),
    isRunning: () => worker.isRunning(),
    setConcurrency(count) {
      const wasFull = counter.count() >= worker.concurrency;
      const isRaised = count > worker.concurrency;
      worker.concurrency = count;
      // The worker's loop waits for the end of a job while it has as many as it may. An empty result makes it go on.
      // biome-ignore lint/complexity/useLiteralKeys: a private field of the library
      if (wasFull && isRaised) worker['mainLoopQueue']?.add(Promise.resolve(undefined));
    },
    async stop() {
      let isClosed = false;
      const closed = worker.close().finally(() => {
        isClosed = true;
      });
      stopping.abort();
      // BullMQ waits for Redis without a limit, and may still start a job that it has fetched.
      while (!isClosed) {
        await Promise.race([closed, counter.waitUntilIdle()]);
        await withTimeoutFallback(closed, CLOSE_TIMEOUT_MS, undefined);
        if (counter.isIdle()) break;
      }
      blocking.disconnect();
      connection.disconnect();
    },
  };
}

/** Creates the function that throws while Redis is not available: BullMQ would wait until it is. The first call connects, unless the app has done so. */
function createConnectionCheck(redis: RedisConnections): () => Promise<void> {
  let connecting: Promise<unknown> | undefined;
  return async () => {
    const { commands } = redis;
    if (commands.status === 'wait') connecting ??= commands.connect().catch(() => undefined);
    if (connecting !== undefined) await withTimeoutFallback(connecting, CONNECT_TIMEOUT_MS, undefined);
    if (commands.status !== 'ready') throw redis.lastError() ?? new Error('Redis is not connected');
  };
}

/** Work that goes on. Closing waits for it, even if nobody else does. */
class OngoingWork {
  readonly #work = new Set<Promise<void>>();

  async track(work: Promise<void>): Promise<void> {
    this.#work.add(work);
    try {
      await work;
    } finally {
      this.#work.delete(work);
    }
  }

  /** Resolves when none of the work goes on. */
  async whenIdle(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work);
  }
}

/** Creates the queues of an app. @param prefix the prefix of every Redis key, so that two apps can share a Redis */
export function createQueues(redis: RedisConnections, prefix: string, log: Logger): Queues {
  const queues = new Map<string, Queue>();
  const worked = new Map<string, () => QueueFacts>();
  const warnOfWorker = createLimitedWarning(log, WARNING_INTERVAL_MS);
  const warnOfLostJobs = createLimitedWarning(log, WARNING_INTERVAL_MS);
  const channelOf = (queue: string) => `${prefix}:jobs:${queue}`;
  const requireConnection = createConnectionCheck(redis);
  /** The calls of `add` in progress. */
  const adding = new OngoingWork();

  function getOrCreateQueue(name: string): Queue {
    let queue = queues.get(name);
    if (queue === undefined) {
      const { Queue: BullmqQueue } = loadBullmq();
      queue = new BullmqQueue(name, {
        connection: redis.commands,
        prefix: prefixOfQueue(prefix, name),
        defaultJobOptions: DEFAULT_JOB_OPTIONS,
        // The start of the app checks the version, once for all connections.
        skipVersionCheck: true,
      });
      // The main Redis connection already reports that Redis is down; without a listener, the queue's copy of that error would be fatal.
      queue.on('error', () => undefined);
      queues.set(name, queue);
    }
    return queue;
  }

  function publishIds(name: string, ids: readonly string[]): void {
    redis.commands.publish(channelOf(name), ids.join(' ')).catch(() => undefined);
  }

  async function tryToAdd(name: string, jobs: NewJob[], isAnnounced: boolean): Promise<void> {
    try {
      await requireConnection();
      // Announce before the jobs can start, so that no worker does the work of a job twice.
      if (isAnnounced)
        publishIds(
          name,
          jobs.map(({ data }) => data.id),
        );
      await getOrCreateQueue(name).addBulk(jobs);
    } catch (error) {
      warnOfLostJobs({ err: error, queue: name, jobs: jobs.length }, 'jobs were not added; the sweep will add them');
    }
  }

  return {
    announce(name, ids) {
      // A process may announce before anything else has connected it.
      requireConnection().then(
        () => publishIds(name, ids),
        () => undefined,
      );
    },
    async add(name, jobs, isAnnounced = false) {
      if (jobs.length > 0) await adding.track(tryToAdd(name, jobs, isAnnounced));
    },
    listen: (name, listener) =>
      redis.subscribe(channelOf(name), (message) => message.split(' ').forEach(listener)).stop,
    work(name, process, concurrency, stallDetection = STALL_DETECTION) {
      const queue = { name, prefix: prefixOfQueue(prefix, name) };
      const { readFacts, ...worker } = startWorker(
        redis,
        queue,
        process,
        { concurrency, ...stallDetection },
        warnOfWorker,
        log,
      );
      worked.set(name, readFacts);
      return worker;
    },
    workedQueues: () => [...worked.keys()],
    activity: () => [...worked.values()].map((readFacts) => readFacts()),
    queue: getOrCreateQueue,
    async close() {
      // Nobody else may wait for them: a command or script often ends right after it has stored a job.
      await withTimeoutFallback(adding.whenIdle(), CLOSE_TIMEOUT_MS, undefined);
      // Closing fails while Redis is down, but the rest of the app must still be closed.
      await Promise.all([...queues.values()].map((open) => open.close().catch(() => undefined)));
    },
  };
}
