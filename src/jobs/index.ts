import type { Viewer } from '../declare/actor.ts';
import type { FeatureParts } from '../declare/extension.ts';
import type { JobContext } from '../declare/job.ts';
import type { Jobs } from '../declare/job-queue.ts';
import type { CallerTransaction } from '../declare/service.ts';
import type { Platform } from '../platform/platform.ts';
import type { CompiledJobs } from './declarations/declarations.ts';
import { createJobMetrics } from './metrics.ts';
import { createJobBacklog, createJobOverviewReader } from './overview.ts';
import { createEnqueue, findDeclaredJob } from './queue/enqueue.ts';
import { createQueueEntries, queueOfJob } from './queue/queue.ts';
import { createJobRecords } from './records.ts';
import type { CompiledSchedule } from './schedules/declarations.ts';
import { createScheduleSweep } from './schedules/ticks.ts';
import { createJobSweeps } from './sweeps.ts';
import { createJobUserData } from './user-data.ts';
import { startJobWorker } from './worker.ts';

export { compileJobs } from './declarations/declarations.ts';
export { checkEnqueuedJobs } from './declarations/undeclared.ts';
export { compileSchedules } from './schedules/declarations.ts';
export { jobTables } from './tables.ts';

/** The compiled jobs and schedules of an app. */
export interface CompiledJobOptions {
  jobs: CompiledJobs;
  schedules: readonly CompiledSchedule[];
}

/** What runs of jobs get. */
export interface JobRuntime {
  context: Omit<
    JobContext,
    'id' | 'input' | 'attempt' | 'scheduledAt' | 'signal' | 'progress' | 'user' | 'log' | 'jobs'
  >;
  /**
   * Returns an active user; undefined if the user does not exist or is not active.
   *
   * @param organisationRole not null: the id is that of an organisation, which acts as this role; undefined if it does not exist
   */
  loadUser(id: string, organisationRole: string | null): Promise<Viewer | undefined>;
}

/** The background jobs of an app. */
export interface BackgroundJobs {
  /** The app's `app.jobs`, and the `jobs` of hooks, handlers and runs. */
  api: Jobs;
  /** The worker, the sweeps, and the data about users. */
  createParts(runtime: JobRuntime): FeatureParts;
}

/**
 * Creates the background jobs of an app. Opens no connection.
 *
 * @param currentTransaction returns the transaction of the calling code
 */
export function createJobs(
  platform: Platform,
  { jobs, schedules }: CompiledJobOptions,
  currentTransaction: () => CallerTransaction | undefined,
): BackgroundJobs {
  const { database, queues } = platform;
  const enqueueJob = createEnqueue(platform, currentTransaction);
  const metrics = createJobMetrics(platform.metrics);
  const records = createJobRecords(database, currentTransaction);
  const readOverview = createJobOverviewReader(database, { jobs, schedules });
  const api: Jobs = {
    // Not awaited before the first statement: the transaction of the caller must be read at once.
    enqueue: async (job: unknown, ...args: unknown[]) => {
      const [input, options] = args as [unknown, undefined];
      return enqueueJob(findDeclaredJob(jobs, job), input, options);
    },
    get: (id) => records.get(id),
    overview: readOverview,
    list: async (filter = {}) => records.list(filter),
    cancel: (id) => records.cancel(id),
    retry(id) {
      const transaction = currentTransaction();
      return records.retry(id, ({ job }, claims) => {
        const addEntry = () => void queues.add(queueOfJob(job), createQueueEntries([{ id, claims }]));
        if (transaction === undefined) addEntry();
        else transaction.afterCommit(addEntry);
      });
    },
  };
  return {
    api,
    createParts: ({ context, loadUser }) => ({
      sweeps: [
        ...(schedules.length > 0 ? [createScheduleSweep(platform, schedules)] : []),
        ...createJobSweeps(platform, { jobs, schedules: schedules.map(({ name }) => name) }, metrics),
      ],
      userData: [createJobUserData(database)],
      ...(jobs.size > 0
        ? {
            workers: {
              'job-worker': () =>
                startJobWorker(platform, jobs, { loadUser, context: { ...context, jobs: api } }, metrics),
            },
            backlogs: [createJobBacklog(database, [...jobs.keys()])],
          }
        : {}),
    }),
  };
}
