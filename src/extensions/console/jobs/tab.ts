import { z } from 'zod';
import {
  ApiError,
  type ConsoleConcern,
  type ConsoleRoute,
  type ConsoleTab,
  type Host,
  type JobRecord,
  type JobStatus,
  type Jobs,
  suggestKnownNames,
  toWords,
  validationError,
  withMeta,
} from '../../../extension/index.ts';
import { describeInputForm } from './input-form.ts';
import type { Job, JobItem, KindDescription, ListedJobs } from './responses.ts';
import { showStored } from './shown-value.ts';

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

function toListItem({ input: _input, result: _result, error, ...job }: JobRecord): JobItem {
  return { ...job, label: toWords(job.job), error: error?.slice(0, MAX_ERROR_LENGTH) ?? null };
}

/** The tab of the console that shows jobs and schedules, and does with jobs what `belfry jobs` can do. */
export function createJobsTab(
  host: Pick<Host, 'declaredJobs' | 'readJobOverview'> & { senders: { jobs: Jobs } },
): ConsoleTab {
  const { declaredJobs } = host;
  const { jobs } = host.senders;

  async function readOverview(): Promise<ListedJobs> {
    const { kinds, ...overview } = await host.readJobOverview();
    return { kinds: kinds.map((kind) => ({ ...kind, label: toWords(kind.name) })), ...overview };
  }

  async function listJobs({ job, status, after }: z.output<typeof listQuery>) {
    const { data, next } = await jobs.list({ job, status: status as JobStatus | undefined, after, limit: PAGE_SIZE });
    return withMeta(data.map(toListItem), { limit: PAGE_SIZE, next });
  }

  /** Describes a declared job with the form for its input. Not part of the overview, which pages read again and again. */
  function describeKind(name: string): KindDescription {
    const declared = declaredJobs.get(name);
    if (declared === undefined) throw new ApiError('NOT_FOUND', 'The app declares no job with this name');
    return {
      name,
      label: toWords(name),
      description: declared.description ?? null,
      input: describeInputForm(declared),
    };
  }

  async function loadJob(id: string): Promise<JobRecord> {
    const job = await jobs.get(id);
    if (job === undefined) throw new ApiError('NOT_FOUND', 'There is no job with this id');
    return job;
  }

  /** Returns a job with its input and result as they are shown. */
  async function getJob(id: string): Promise<Job> {
    const job = await loadJob(id);
    const declared = declaredJobs.get(job.job);
    const fields = declared && describeInputForm(declared)?.fields;
    return {
      ...job,
      label: toWords(job.job),
      maxAttempts: declared?.retry.attempts ?? null,
      input: showStored(job.input, fields ?? []),
      result: showStored(job.result),
    };
  }

  async function enqueue({ job, input, ...options }: z.output<typeof enqueueBody>) {
    if (!declaredJobs.has(job))
      throw validationError({ job: `Is not declared${suggestKnownNames(job, 'jobs', declaredJobs.keys())}` });
    return jobs.enqueue(job, input, options);
  }

  async function listConcerns(): Promise<ConsoleConcern[]> {
    const { kinds, cappedStatuses } = await host.readJobOverview();
    const count = kinds.reduce((sum, { counts }) => sum + counts.failed, 0);
    if (count === 0) return [];
    const number = `${cappedStatuses.includes('failed') ? 'More than ' : ''}${count.toLocaleString('en')}`;
    const message =
      count === 1 ? '1 job has failed and can be retried' : `${number} jobs have failed and can be retried`;
    return [{ level: 'error', message, href: '/console/jobs/failed' }];
  }

  const changeRoute = (verb: 'retry' | 'cancel', action: string): ConsoleRoute => ({
    method: 'POST',
    path: `/runs/:id/${verb}`,
    action,
    handler: async ({ params }) => toListItem(await jobs[verb](params.id!)),
  });

  return {
    id: 'jobs',
    label: 'Jobs',
    concerns: listConcerns,
    routes: [
      { method: 'GET', path: '/overview', handler: readOverview },
      { method: 'GET', path: '/kinds/:name', handler: ({ params }) => describeKind(params.name!) },
      { method: 'GET', path: '/runs', query: listQuery, handler: ({ query }) => listJobs(query) },
      { method: 'GET', path: '/runs/:id', handler: ({ params }) => getJob(params.id!) },
      // The whole input, with which another job may begin.
      {
        method: 'GET',
        path: '/runs/:id/input',
        handler: async ({ params }) => ({ input: (await loadJob(params.id!)).input }),
      },
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
