import { type JobsOptions, Queue, QueueEvents, Worker } from 'bullmq';
import type { Logger } from './log.ts';
import type { RedisClients } from './redis.ts';

/** The data of every job: a pointer to a row. */
export interface Pointer {
  id: string;
}

/** A job to add: its name says what is done, its data where the row is. */
export interface NewJob {
  name: string;
  data: Pointer;
  opts?: JobsOptions;
}

/** A worker that runs. */
export interface RunningWorker {
  /** Stops taking jobs and waits for those in work. */
  stop(): Promise<void>;
}

/**
 * How a queue notices that a worker died, in ms: a job is taken over when its lock was not renewed for `lockDuration` and somebody has
 * looked twice since, every `stalledInterval`. A worker that stands still for as long loses its jobs to others, which do them again.
 */
export interface Watch {
  lockDuration: number;
  stalledInterval: number;
}

/** The queues of one app. */
export interface Queues {
  /**
   * Adds jobs in one round trip. A failure (Redis away) is logged and swallowed on purpose: the rows are in Postgres,
   * and the sweep enqueues what has no job.
   */
  add(queue: string, jobs: NewJob[]): Promise<void>;
  /**
   * Runs `process` for each job, up to `concurrency` at once.
   *
   * @param watch how soon the jobs of a worker that died are taken over; left out, within 20 s
   */
  work(
    queue: string,
    process: (job: { name: string; data: Pointer }) => Promise<unknown>,
    concurrency: number,
    watch?: Watch,
  ): RunningWorker;
  /** The events of a queue: who finished, with what. Made at first use. */
  events(queue: string): QueueEvents;
  /** The queue itself, for what `add` does not offer. */
  queue(name: string): Queue;
  close(): Promise<void>;
}

// A finished job must leave at once: a kept job id would make a later add of the same id a silent no-op.
const DEFAULTS: JobsOptions = { removeOnComplete: true, removeOnFail: true, attempts: 1 };

// The jobs of a worker that died are taken over within 20 s; BullMQ's own 30 s + 30 s would hold them up for a minute.
const WATCH: Watch = { lockDuration: 15_000, stalledInterval: 5_000 };
const MAX_TAKEOVERS = 10;

/** @param prefix carried by every key, so that two apps may share a Redis */
export function createQueues(redis: RedisClients, prefix: string, log: Logger): Queues {
  const queues = new Map<string, Queue>();
  const events = new Map<string, QueueEvents>();

  function queueOf(name: string): Queue {
    let queue = queues.get(name);
    if (queue === undefined) {
      queue = new Queue(name, { connection: redis.commands, prefix, defaultJobOptions: DEFAULTS });
      // Redis' own connection already reports that it is away; a queue's copy of that error must only not be fatal.
      queue.on('error', () => undefined);
      queues.set(name, queue);
    }
    return queue;
  }

  return {
    async add(name, jobs) {
      if (jobs.length === 0) return;
      try {
        await queueOf(name).addBulk(jobs);
      } catch (error) {
        log.warn({ err: error, queue: name, jobs: jobs.length }, 'jobs were not added; the sweep will add them');
      }
    },
    work(name, process, concurrency, watch = WATCH) {
      const connection = redis.patient();
      const worker = new Worker(name, process, {
        connection,
        prefix,
        concurrency,
        ...watch,
        maxStalledCount: MAX_TAKEOVERS,
      });
      worker.on('error', (error) => log.warn({ err: error, queue: name }, 'a worker reported an error'));
      worker.on('failed', (job, error) => log.error({ err: error, queue: name, job: job?.id }, 'a job failed'));
      return {
        async stop() {
          await worker.close();
          connection.disconnect();
        },
      };
    },
    events(name) {
      let stream = events.get(name);
      if (stream === undefined) {
        stream = new QueueEvents(name, { connection: redis.patient(), prefix });
        stream.on('error', () => undefined);
        events.set(name, stream);
      }
      return stream;
    },
    queue: queueOf,
    async close() {
      // While Redis is away there is nothing to say goodbye to, and the rest of the app must still be closed.
      await Promise.all([...events.values(), ...queues.values()].map((open) => open.close().catch(() => undefined)));
    },
  };
}
