// The baseline of background jobs: BullMQ alone, with its jobs in Redis only.
import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { JOB_CONCURRENCY, type JobCalls, runConcurrently } from '../measure/jobs.ts';
import { currentTimeMs, reportReady } from '../processes/child.ts';

const connect = () => new Redis(process.env.REDIS_URL!, { maxRetriesPerRequest: null });
const queue = new Queue('noop', {
  connection: connect(),
  defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
});

const calls: JobCalls = {
  async enqueue(count) {
    await queue.obliterate({ force: true });
    const begin = currentTimeMs();
    await runConcurrently(count, () => queue.add('run', {}));
    return currentTimeMs() - begin;
  },
  async run(count) {
    let finished = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const connection = connect();
    const begin = currentTimeMs();
    const worker = new Worker('noop', async () => undefined, { connection, concurrency: JOB_CONCURRENCY });
    worker.on('completed', () => {
      if (++finished === count) resolve();
    });
    await promise;
    const ms = currentTimeMs() - begin;
    await worker.close();
    connection.disconnect();
    return ms;
  },
};
reportReady('', { ...calls });
