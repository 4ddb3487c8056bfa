// Jobs of graphile-worker that do nothing, 50 at once. Other settings are its defaults, or its fastest if LOCAL_QUEUE is set: that many jobs are
// fetched at once, finished jobs are removed in batches, and all jobs are enqueued by one statement.
import pg from 'pg';
import { JOB_CONCURRENCY, type JobCalls, runConcurrently } from '../../measure/jobs.ts';
import { currentTimeMs, reportReady } from '../../processes/child.ts';
import { importPackage } from '../packages.ts';

interface Logger {
  scope(): Logger;
}

interface GraphileWorker {
  Logger: new (create: () => () => void) => Logger;
  makeWorkerUtils(options: object): Promise<{
    migrate(): Promise<void>;
    addJob(task: string, payload: object): Promise<unknown>;
    addJobs(jobs: readonly { identifier: string; payload: object }[]): Promise<unknown>;
  }>;
  run(options: object): Promise<{ stop(): Promise<void> }>;
}

const { Logger, makeWorkerUtils, run } = await importPackage<GraphileWorker>('graphile-worker', 'graphile-worker');
const connectionString = process.env.DATABASE_URL;
// It logs each job, in production too.
const options = { connectionString, logger: new Logger(() => () => undefined) };
const { LOCAL_QUEUE } = process.env;
const worker =
  LOCAL_QUEUE === undefined
    ? {}
    : { localQueue: { size: Number(LOCAL_QUEUE) }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const preset = { worker: { ...worker, concurrentJobs: JOB_CONCURRENCY } };
const utils = await makeWorkerUtils(options);
await utils.migrate();
const pool = new pg.Pool({ connectionString, max: 1 });

const calls: JobCalls = {
  async enqueue(count) {
    await pool.query('truncate graphile_worker._private_jobs');
    const begin = currentTimeMs();
    if (LOCAL_QUEUE === undefined) await runConcurrently(count, () => utils.addJob('noop', {}));
    else await utils.addJobs(Array.from({ length: count }, () => ({ identifier: 'noop', payload: {} })));
    return currentTimeMs() - begin;
  },
  async run(count) {
    let finished = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const noop = async () => {
      if (++finished === count) resolve();
    };
    const begin = currentTimeMs();
    const runner = await run({ ...options, preset, noHandleSignals: true, taskList: { noop } });
    await promise;
    const ms = currentTimeMs() - begin;
    await runner.stop();
    const { rows } = await pool.query<{ count: number }>('select count(*)::int from graphile_worker.jobs');
    if (finished !== count || rows[0]!.count !== 0) throw new Error('graphile-worker has not run all jobs.');
    return ms;
  },
};
reportReady('', { ...calls });
