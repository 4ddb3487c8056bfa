// Jobs of pg-boss that do nothing. With its default settings it would run one job every two seconds.
import pg from 'pg';
import { JOB_CONCURRENCY, type JobCalls, runConcurrently } from '../../measure/jobs.ts';
import { currentTimeMs, reportReady } from '../../processes/child.ts';
import { importPackage } from '../packages.ts';

interface Boss {
  on(event: 'error', listener: (error: Error) => void): void;
  start(): Promise<unknown>;
  createQueue(name: string): Promise<void>;
  deleteAllJobs(name: string): Promise<unknown>;
  send(name: string, data: object): Promise<unknown>;
  work(name: string, options: object, handler: (jobs: readonly object[]) => Promise<void>): Promise<string>;
  offWork(name: string, options: object): Promise<void>;
}

const QUEUE = 'noop';
const { PgBoss } = await importPackage<{ PgBoss: new (url: string) => Boss }>('pg-boss', 'pg-boss');
const boss = new PgBoss(process.env.DATABASE_URL!);
boss.on('error', (error) => console.error(error));
await boss.start();
await boss.createQueue(QUEUE);
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 1 });

const calls: JobCalls = {
  async enqueue(count) {
    await boss.deleteAllJobs(QUEUE);
    const begin = currentTimeMs();
    await runConcurrently(count, () => boss.send(QUEUE, {}));
    return currentTimeMs() - begin;
  },
  async run(count) {
    let finished = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const begin = currentTimeMs();
    const options = { batchSize: JOB_CONCURRENCY, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
    await boss.work(QUEUE, options, async (jobs) => {
      finished += jobs.length;
      if (finished === count) resolve();
    });
    await promise;
    const ms = currentTimeMs() - begin;
    await boss.offWork(QUEUE, { wait: true });
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::int from pgboss.job where name = $1 and state = 'completed'`,
      [QUEUE],
    );
    if (rows[0]!.count !== count) throw new Error('pg-boss has not run all jobs.');
    return ms;
  },
};
reportReady('', { ...calls });
