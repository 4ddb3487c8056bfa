import { type JobsOptions, Queue, QueueEvents, Worker } from 'bullmq';
import type { Logger } from '../observability/log.ts';
import type { RedisConnections } from './connections.ts';

/** The data of every job: the id of a row. */
export interface JobData {
  id: string;
  /** The id of the user that the job belongs to, so that a worker can share its capacity among users without a query. */
  owner?: string;
}

/** A job to add: `name` is the kind of work, `data` refers to the row. */
export interface NewJob {
  name: string;
  data: JobData;
  opts?: JobsOptions;
}

/** A worker that is running. */
export interface RunningWorker {
  /** Stops accepting jobs and waits for those in progress. */
  stop(): Promise<void>;
  /** Whether the worker still takes jobs, for the health check of its process. Default: it does. */
  isRunning?(): boolean;
}

/**
 * How a queue detects a crashed worker, in ms. Another worker takes over a job if its lock was not renewed for `lockDuration` and two
 * checks, one every `stalledInterval`, have found it stalled. A worker whose event loop is blocked for that long loses its jobs
 * in the same way, and they run again.
 */
export interface StallDetection {
  lockDuration: number;
  stalledInterval: number;
}

/** The queues of one app. */
export interface Queues {
  /**
   * Adds jobs in one round trip. A failure (Redis is down) is deliberately logged and ignored: the rows are in Postgres,
   * and the sweep enqueues rows that have no job.
   */
  add(queue: string, jobs: NewJob[]): Promise<void>;
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
  ): RunningWorker;
  /** The events of a queue, such as finished jobs with their results. Connects at first use. */
  events(queue: string): QueueEvents;
  /** Returns BullMQ's queue, for operations that `add` does not cover. */
  queue(name: string): Queue;
  close(): Promise<void>;
}

// Remove finished jobs at once: if a job id still exists, a later add of the same id is silently ignored.
const DEFAULT_JOB_OPTIONS: JobsOptions = { removeOnComplete: true, removeOnFail: true, attempts: 1 };

// Take over the jobs of a crashed worker within 20 s; BullMQ's default of 30 s + 30 s would delay them for a minute.
const STALL_DETECTION: StallDetection = { lockDuration: 15_000, stalledInterval: 5_000 };
const MAX_TAKEOVERS = 10;

/** Creates the queues of an app. @param prefix the prefix of every Redis key, so that two apps can share a Redis */
export function createQueues(redis: RedisConnections, prefix: string, log: Logger): Queues {
  const queues = new Map<string, Queue>();
  const events = new Map<string, QueueEvents>();

  function getOrCreateQueue(name: string): Queue {
    let queue = queues.get(name);
    if (queue === undefined) {
      queue = new Queue(name, { connection: redis.commands, prefix, defaultJobOptions: DEFAULT_JOB_OPTIONS });
      // The main Redis connection already reports that Redis is down; without a listener, the queue's copy of that error would be fatal.
      queue.on('error', () => undefined);
      queues.set(name, queue);
    }
    return queue;
  }

  return {
    async add(name, jobs) {
      if (jobs.length === 0) return;
      try {
        await getOrCreateQueue(name).addBulk(jobs);
      } catch (error) {
        log.warn({ err: error, queue: name, jobs: jobs.length }, 'jobs were not added; the sweep will add them');
      }
    },
    work(name, process, concurrency, stallDetection = STALL_DETECTION) {
      const connection = redis.createBlockingConnection();
      const worker = new Worker(name, process, {
        connection,
        prefix,
        concurrency,
        ...stallDetection,
        maxStalledCount: MAX_TAKEOVERS,
      });
      worker.on('error', (error) => log.warn({ err: error, queue: name }, 'a worker reported an error'));
      worker.on('failed', (job, error) => log.error({ err: error, queue: name, job: job?.id }, 'a job failed'));
      return {
        isRunning: () => worker.isRunning(),
        async stop() {
          await worker.close();
          connection.disconnect();
        },
      };
    },
    events(name) {
      let stream = events.get(name);
      if (stream === undefined) {
        stream = new QueueEvents(name, { connection: redis.createBlockingConnection(), prefix });
        stream.on('error', () => undefined);
        events.set(name, stream);
      }
      return stream;
    },
    queue: getOrCreateQueue,
    async close() {
      // Closing fails while Redis is down, but the rest of the app must still be closed.
      await Promise.all([...events.values(), ...queues.values()].map((open) => open.close().catch(() => undefined)));
    },
  };
}
