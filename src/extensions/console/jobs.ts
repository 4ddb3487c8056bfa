import type { RequestHandler } from 'express';
import { z } from 'zod';
import type { Host } from '../../declare/host.ts';
import type { JobRecord, JobStatus, Jobs } from '../../declare/job-queue.ts';
import type { Route } from '../../declare/route.ts';
import { suggestKnownNames } from '../../platform/config/did-you-mean.ts';
import { ApiError, validationError } from '../../platform/errors.ts';
import { forbidCaching } from './access.ts';
import type { LiveUpdates } from './live.ts';

const PAGE_SIZE = 20;
const MAX_ERROR_LENGTH = 200;

const text = z.string({ error: 'Must be a text' });
const listQuery = z.strictObject({ job: text.optional(), status: text.optional(), after: text.optional() });
const enqueueBody = z.strictObject({
  job: text,
  input: z.unknown().optional(),
  runAt: text.optional(),
  uniqueKey: text.optional(),
});

/** A job in a list: without its input and result, which may be large. */
function toListItem({ input: _input, result: _result, error, ...job }: JobRecord) {
  return { ...job, error: error?.slice(0, MAX_ERROR_LENGTH) ?? null };
}

/** The routes of the page at `path`: read jobs, and do with them what `belfry jobs` can do. */
export function jobRoutes(
  path: string,
  {
    host,
    live,
    middleware,
  }: {
    host: Pick<Host, 'readJobOverview'> & { senders: { jobs: Jobs } };
    live: LiveUpdates;
    middleware: readonly RequestHandler[];
  },
): Route[] {
  const { jobs } = host.senders;
  const common = { policy: 'public', middleware: [...middleware, forbidCaching] };

  async function listJobs({ job, status, after }: z.output<typeof listQuery>) {
    const { data, next } = await jobs.list({ job, status: status as JobStatus | undefined, after, limit: PAGE_SIZE });
    return { jobs: data.map(toListItem), next };
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

  /** Wraps a handler so that open pages are updated right after its action. */
  const withPageRefresh = (handler: Route['handler']): Route['handler'] => {
    return async (ctx) => {
      const value = await handler(ctx);
      live.refreshStreams();
      return value;
    };
  };

  return [
    { ...common, method: 'GET', path: `${path}/events`, handler: ({ req, res }) => live.openStream(req, res) },
    { ...common, method: 'GET', path: `${path}/runs`, query: listQuery, handler: ({ query }) => listJobs(query) },
    { ...common, method: 'GET', path: `${path}/runs/:id`, handler: ({ params }) => getJob(params.id!) },
    {
      ...common,
      method: 'POST',
      path: `${path}/runs`,
      input: enqueueBody,
      status: 201,
      handler: withPageRefresh(({ input }) => enqueue(input)),
    },
    ...(['retry', 'cancel'] as const).map(
      (verb): Route => ({
        ...common,
        method: 'POST',
        path: `${path}/runs/:id/${verb}`,
        handler: withPageRefresh(({ params }) => jobs[verb](params.id!)),
      }),
    ),
  ];
}
