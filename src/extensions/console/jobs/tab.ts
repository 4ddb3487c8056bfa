import { z } from 'zod';
import {
  ApiError,
  type ConsoleRoute,
  type ConsoleTab,
  type Host,
  type JobRecord,
  type JobStatus,
  type Jobs,
  suggestKnownNames,
  validationError,
  withMeta,
} from '../../../extension/index.ts';

const PAGE_SIZE = 20;
const MAX_ERROR_LENGTH = 200;

const text = z.string({ error: 'Must be a text' });
const listQuery = z.strictObject({ job: text.optional(), status: text.optional(), after: text.optional() });
const enqueueBody = z.strictObject({
  // The audit trail records the name, also of a job that is not declared.
  job: text.regex(/^[a-z0-9-]{1,60}$/, { error: 'Must be the name of a job' }),
  input: z.unknown().optional(),
  runAt: text.optional(),
  uniqueKey: text.optional(),
});

/** A job in a list: without its input and result, which may be large. */
function toListItem({ input: _input, result: _result, error, ...job }: JobRecord) {
  return { ...job, error: error?.slice(0, MAX_ERROR_LENGTH) ?? null };
}

/** The tab of the console that shows jobs and schedules, and does with jobs what `belfry jobs` can do. */
export function createJobsTab(host: Pick<Host, 'readJobOverview'> & { senders: { jobs: Jobs } }): ConsoleTab {
  const { jobs } = host.senders;

  async function listJobs({ job, status, after }: z.output<typeof listQuery>) {
    const { data, next } = await jobs.list({ job, status: status as JobStatus | undefined, after, limit: PAGE_SIZE });
    return withMeta(data.map(toListItem), { limit: PAGE_SIZE, next });
  }

  async function getJob(id: string): Promise<JobRecord> {
    const job = await jobs.get(id);
    if (job === undefined) throw new ApiError('NOT_FOUND', 'There is no job with this id');
    return job;
  }

  async function enqueue({ job, input, ...options }: z.output<typeof enqueueBody>) {
    const { kinds } = await host.readJobOverview();
    const declared = kinds.filter(({ isDeclared }) => isDeclared).map(({ name }) => name);
    if (!declared.includes(job))
      throw validationError({ job: `Is not declared${suggestKnownNames(job, 'jobs', declared)}` });
    return jobs.enqueue(job, input, options);
  }

  const changeRoute = (verb: 'retry' | 'cancel', action: string): ConsoleRoute => ({
    method: 'POST',
    path: `/runs/:id/${verb}`,
    action,
    handler: ({ params }) => jobs[verb](params.id!),
  });

  return {
    id: 'jobs',
    label: 'Jobs',
    routes: [
      { method: 'GET', path: '/overview', handler: () => host.readJobOverview() },
      { method: 'GET', path: '/runs', query: listQuery, handler: ({ query }) => listJobs(query) },
      { method: 'GET', path: '/runs/:id', handler: ({ params }) => getJob(params.id!) },
      {
        method: 'POST',
        path: '/runs',
        input: enqueueBody,
        status: 201,
        action: 'jobEnqueued',
        // The input may contain personal values, so the entry has only the name of the job.
        recordedAs: ({ input }) => ({ resource: 'jobs', record: null, details: { job: input.job } }),
        handler: ({ input }) => enqueue(input),
      },
      changeRoute('retry', 'jobRetried'),
      changeRoute('cancel', 'jobCancelled'),
    ],
  };
}
