import type { BackendFactory, RedisQueueBackend } from 'bullmq';
import type { RedisClient } from '../../data/redis/connections.ts';
import { type Backoff, createBackoff } from '../../helpers/concurrency/backoff.ts';
import { loadBullmq } from './bullmq.ts';

const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 3000;
/** While more jobs are active, a check costs little compared to listing them. */
const MAX_LISTED_JOBS = 100;

/** Defines the access of a worker to its queue. After an error it waits, because BullMQ itself would try again at once. */
function defineWorkerBackend() {
  const { RedisQueueBackend: Backend } = loadBullmq();
  return class WorkerBackend extends Backend {
    readonly #backoff: Backoff = createBackoff(FIRST_RETRY_MS, MAX_RETRY_MS);
    readonly #isOwnJob: (id: string) => boolean;
    readonly #stopping: AbortSignal;

    constructor(
      isOwnJob: (id: string) => boolean,
      stopping: AbortSignal,
      ...args: ConstructorParameters<typeof Backend>
    ) {
      super(...args);
      this.#isOwnJob = isOwnJob;
      this.#stopping = stopping;
    }

    // biome-ignore lint/suspicious/noExplicitAny: the type of the library
    override moveToActive(token: string, name?: string): Promise<any[]> {
      return this.#waitAfterError(() => super.moveToActive(token, name));
    }

    override waitForJob(blockTimeout: number): ReturnType<RedisQueueBackend['waitForJob']> {
      // BullMQ knows fractions of a second only from the version, which it does not read: Redis has them since version 6.
      this.blockingConnection!.capabilities = { canDoubleTimeout: true, canBlockFor1Ms: false };
      return this.#waitAfterError(() => super.waitForJob(blockTimeout));
    }

    /** A check costs several commands, so skip it while no job is active, or only jobs whose locks this process renews. */
    override async moveStalledJobsToWait(): ReturnType<RedisQueueBackend['moveStalledJobsToWait']> {
      const active = await (await this.client).lrange(this.toKey('active'), 0, MAX_LISTED_JOBS - 1);
      const isCheckNeeded = active.length === MAX_LISTED_JOBS || !active.every(this.#isOwnJob);
      return isCheckNeeded ? super.moveStalledJobsToWait() : [];
    }

    async #waitAfterError<T>(command: () => Promise<T>): Promise<T> {
      try {
        const result = await command();
        this.#backoff.reset();
        return result;
      } catch (error) {
        await this.#backoff.wait(this.#stopping);
        throw error;
      }
    }
  };
}

let WorkerBackend: ReturnType<typeof defineWorkerBackend> | undefined;

/**
 * Creates the access of a worker to its queue. The caller owns the connections.
 *
 * @param connections `blocking`: the connection on which the worker waits for jobs
 * @param prefix the start of every key of the queue
 * @param isOwnJob whether this process runs a job and renews its lock
 * @param stopping ends waiting after an error
 */
export function createWorkerBackend(
  connections: { connection: RedisClient; blocking: RedisClient },
  prefix: string,
  isOwnJob: (id: string) => boolean,
  stopping: AbortSignal,
): BackendFactory<RedisQueueBackend> {
  const { QueueKeys, RedisConnection } = loadBullmq();
  WorkerBackend ??= defineWorkerBackend();
  const Backend = WorkerBackend;
  return (name, opts) => {
    const keys = new QueueKeys(prefix);
    const shared = { shared: true, skipVersionCheck: true };
    const connection = new RedisConnection(connections.connection, { ...shared, blocking: false });
    const blocking = new RedisConnection(connections.blocking, { ...shared, blocking: true });
    const toKey = (type: string) => keys.toKey(name, type);
    return new Backend(isOwnJob, stopping, connection, name, keys.getKeys(name), toKey, opts, blocking);
  };
}
