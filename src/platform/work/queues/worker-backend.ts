import type { BackendFactory, RedisQueueBackend } from 'bullmq';
import type { RedisClient } from '../../data/redis/connections.ts';
import { type Backoff, createBackoff } from '../../helpers/concurrency/backoff.ts';
import { loadBullmq } from './bullmq.ts';

const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 3000;
/** While more jobs are active, a check costs little compared to listing them. */
const MAX_LISTED_JOBS = 100;

/** What a worker's access to its queue needs. The caller owns the connections. */
interface WorkerBackendOptions {
  connection: RedisClient;
  /** The connection on which the worker waits for jobs. */
  blocking: RedisClient;
  /** The start of every key of the queue. */
  prefix: string;
  /** ms that the lock of a job lasts unless it is renewed. */
  lockDuration: number;
  /** Whether this process runs a job and renews its lock. */
  isOwnJob(id: string): boolean;
  /** Ends waiting. */
  stopping: AbortSignal;
}

/** Defines the access of a worker to its queue. After an error it waits, because BullMQ itself would try again at once. */
function defineWorkerBackend() {
  const { RedisQueueBackend: Backend } = loadBullmq();
  return class WorkerBackend extends Backend {
    readonly #backoff: Backoff = createBackoff(FIRST_RETRY_MS, MAX_RETRY_MS);
    readonly #options: WorkerBackendOptions;
    #nextCheckAt = Number.NEGATIVE_INFINITY;

    constructor(options: WorkerBackendOptions, ...args: ConstructorParameters<typeof Backend>) {
      super(...args);
      this.#options = options;
    }

    // biome-ignore lint/suspicious/noExplicitAny: the type of the library
    override moveToActive(token: string, name?: string): Promise<any[]> {
      return this.#waitAfterError(() => super.moveToActive(token, name));
    }

    override waitForJob(blockTimeout: number): ReturnType<RedisQueueBackend['waitForJob']> {
      // BullMQ knows fractions of a second only from the version, which it does not read: Redis has them since version 6.
      this.blockingConnection!.capabilities = { canDoubleTimeout: true, canBlockFor1Ms: false };
      return this.#waitAfterError(async () => {
        let marker = await super.waitForJob(blockTimeout);
        while (marker === null && (await this.#isEmpty())) marker = await super.waitForJob(blockTimeout);
        return marker;
      });
    }

    /**
     * Whether the queue has no job to run, now or later, and the worker is not stopping. After a wait in vain, this takes one command, and BullMQ's
     * search for a job seven.
     */
    async #isEmpty(): Promise<boolean> {
      const { connection, stopping } = this.#options;
      const found = await connection.exists(...['wait', 'prioritized', 'delayed'].map((type) => this.toKey(type)));
      return found === 0 && !stopping.aborted;
    }

    /**
     * A check costs several commands, so skip it while no job is active, or only jobs whose locks this process renews. Jobs that begin later keep
     * their locks for `lockDuration`, so no check is needed before.
     */
    override async moveStalledJobsToWait(): ReturnType<RedisQueueBackend['moveStalledJobsToWait']> {
      const startedAt = performance.now();
      if (startedAt < this.#nextCheckAt) return [];
      const { isOwnJob, lockDuration } = this.#options;
      const active = await (await this.client).lrange(this.toKey('active'), 0, MAX_LISTED_JOBS - 1);
      if (active.length === MAX_LISTED_JOBS || !active.every(isOwnJob)) return super.moveStalledJobsToWait();
      this.#nextCheckAt = startedAt + lockDuration;
      return [];
    }

    async #waitAfterError<T>(command: () => Promise<T>): Promise<T> {
      try {
        const result = await command();
        this.#backoff.reset();
        return result;
      } catch (error) {
        await this.#backoff.wait(this.#options.stopping);
        throw error;
      }
    }
  };
}

let WorkerBackend: ReturnType<typeof defineWorkerBackend> | undefined;

/** Creates the access of a worker to its queue. */
export function createWorkerBackend(options: WorkerBackendOptions): BackendFactory<RedisQueueBackend> {
  const { QueueKeys, RedisConnection } = loadBullmq();
  WorkerBackend ??= defineWorkerBackend();
  const Backend = WorkerBackend;
  return (name, opts) => {
    const keys = new QueueKeys(options.prefix);
    const shared = { shared: true, skipVersionCheck: true };
    const connection = new RedisConnection(options.connection, { ...shared, blocking: false });
    const blocking = new RedisConnection(options.blocking, { ...shared, blocking: true });
    const toKey = (type: string) => keys.toKey(name, type);
    return new Backend(options, connection, name, keys.getKeys(name), toKey, opts, blocking);
  };
}
