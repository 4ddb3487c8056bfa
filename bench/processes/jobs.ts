// Background jobs that do nothing, in their own process.
import { createApp, defineJob } from '../../src/index.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import { JOB_CONCURRENCY, type JobCalls, runConcurrently } from '../measure/jobs.ts';
import { currentTimeMs, reportReady } from './child.ts';

let finished = 0;
let onFinished: () => void = () => undefined;
const noop = defineJob('noop', {
  concurrency: JOB_CONCURRENCY,
  run: () => {
    finished += 1;
    onFinished();
  },
});
const create = () => createApp({ resources: [], jobs: [noop] }, process.env);
const app = create();
const { database } = findAssembly(app)!.platform;

const calls: JobCalls = {
  async enqueue(count) {
    await database.write({ text: 'truncate background_jobs', values: [] });
    const begin = currentTimeMs();
    await runConcurrently(count, () => app.jobs.enqueue(noop));
    return currentTimeMs() - begin;
  },
  async run(count) {
    finished = 0;
    const worker = create();
    const { promise, resolve } = Promise.withResolvers<void>();
    onFinished = () => {
      if (finished === count) resolve();
    };
    const begin = currentTimeMs();
    await worker.start({ roles: ['job-worker'] });
    await promise;
    const ms = currentTimeMs() - begin;
    await worker.close();
    const open = await app.jobs.list({ status: 'waiting', limit: 1 });
    if (open.data.length > 0) throw new Error('jobs are left');
    return ms;
  },
};
reportReady('', { ...calls });
