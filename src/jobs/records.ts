import type { JobFilter } from '../declare/job-queue.ts';
import { JOB_STATUSES, type JobRecord, type JobStatus } from '../declare/job-record.ts';
import type { CallerTransaction } from '../declare/service.ts';
import type { Database, Executor } from '../platform/data/postgres/database.ts';
import { findViolatedConstraint } from '../platform/data/postgres/errors.ts';
import { isStorable } from '../platform/data/postgres/values.ts';
import { ApiError, type ErrorDetails, validationError } from '../platform/helpers/errors.ts';
import { isId } from '../platform/helpers/ids.ts';
import { toPage } from '../platform/helpers/pages.ts';
import { checkOptionNames } from './declarations/values.ts';

const DEFAULT_LIMIT = 20;
/** A job holds up to 128 KB of input and result. */
const MAX_LIMIT = 100;
const FILTER_NAMES = ['job', 'status', 'limit', 'after'];

const COLUMNS = `id, name, status, input, result, error, progress, attempts, run_at, scheduled_at, unique_key, schedule, user_id,
  request_id, created_at, started_at, finished_at, organisation_role`;
const READ = `select ${COLUMNS} from background_jobs where id = $1`;
// Uses the primary key, or index background_jobs_failed_id_index.
const listSql = (status: JobStatus | undefined) => `
  select ${COLUMNS} from background_jobs
  where ($1::text is null or name = $1) and ($2::text is null or id < $2)${status === undefined ? '' : ` and status = '${status}'`}
  order by id desc limit $3`;
const CANCEL = `
  update background_jobs set status = 'cancelled', finished_at = now(), lease_until = null
  where id = $1 and status in ('waiting', 'running') returning ${COLUMNS}`;
// The claim counter goes on, so that the id of the next queue entry is a new one.
const RETRY = `
  update background_jobs set status = 'waiting', run_at = now(), attempts = 0, claims = claims + 1, finished_at = null,
    result = null, progress = null
  where id = $1 and status in ('failed', 'cancelled') returning claims, ${COLUMNS}`;

type Row = [
  string,
  string,
  JobStatus,
  unknown,
  unknown,
  string | null,
  JobRecord['progress'],
  number,
  string,
  string,
  string | null,
  string | null,
  string | null,
  string | null,
  string,
  string | null,
  string | null,
  string | null,
];

function toRecord(row: Row): JobRecord {
  const [id, job, status, input, result, error, progress, attempts, runAt, scheduledAt, uniqueKey, schedule, caller] =
    row;
  const [requestId, createdAt, ...times] = row.slice(13) as [string | null, string, ...(string | null)[]];
  const [startedAt = null, finishedAt = null, organisationRole = null] = times;
  const [user, organisation] = organisationRole === null ? [caller, null] : [null, caller];
  return {
    ...{ id, job, status, input, result, error, progress, attempts, runAt, scheduledAt, uniqueKey, schedule, user },
    ...{ requestId, createdAt, startedAt, finishedAt, organisation },
  };
}

/** The name in a filter, which a client may have chosen: without the check, a filter without a name would list all jobs. */
function nameOfJob(job: unknown): unknown {
  return typeof job === 'object' ? (job as { name?: unknown } | null)?.name : job;
}

/** @returns a message per invalid member */
function checkFilter(filter: JobFilter): ErrorDetails {
  const unknown = checkOptionNames('filter', filter, FILTER_NAMES);
  if ('filter' in unknown) return unknown;
  const { job, status, limit, after } = filter;
  const isJob = job === undefined || (typeof nameOfJob(job) === 'string' && isStorable(nameOfJob(job) as string));
  const isLimit = limit === undefined || (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT);
  return {
    ...unknown,
    ...(isJob ? {} : { job: 'Must be a job or its name' }),
    ...(status === undefined || JOB_STATUSES.includes(status)
      ? {}
      : { status: `Must be one of: ${JOB_STATUSES.join(', ')}` }),
    ...(isLimit ? {} : { limit: `Must be a whole number from 1 to ${MAX_LIMIT}` }),
    ...(after === undefined || isId(after) ? {} : { after: 'Must be the `next` of a page' }),
  };
}

/** Reads, cancels and retries stored jobs. */
interface JobRecords {
  get(id: string): Promise<JobRecord | undefined>;
  list(filter: JobFilter): Promise<{ data: JobRecord[]; next: string | null }>;
  cancel(id: string): Promise<JobRecord>;
  /** @param onRetry called with the job, and with the number of its claims */
  retry(id: string, onRetry: (job: JobRecord, claims: number) => void): Promise<JobRecord>;
}

/** Creates the access to stored jobs. @param currentTransaction returns the transaction of the calling code */
export function createJobRecords(
  database: Database,
  currentTransaction: () => CallerTransaction | undefined,
): JobRecords {
  const executor = (): Executor => currentTransaction()?.database ?? database;

  async function read(id: string, on: Executor = executor()): Promise<JobRecord | undefined> {
    if (!isId(id)) return undefined;
    const [row] = await on.write<Row>({ name: 'job_read', text: READ, values: [id] });
    return row && toRecord(row);
  }

  /** Throws the error for a job that was not changed because of its status. */
  async function refuse(id: string, on: Executor, verb: string): Promise<JobRecord> {
    const job = await read(id, on);
    if (job === undefined) throw new ApiError('NOT_FOUND', 'There is no job with this id');
    if (verb === 'cancelled' && job.status === 'cancelled') return job;
    const why = { waiting: 'is waiting to run', running: 'is running' }[job.status as string] ?? `has ${job.status}`;
    const hint = job.status === 'succeeded' ? '. Enqueue it again instead' : '';
    throw new ApiError('CONFLICT', `The job ${why}, so it cannot be ${verb}${hint}`);
  }

  return {
    get: (id) => read(id),
    async list(filter) {
      const details = checkFilter(filter);
      if (Object.keys(details).length > 0) throw validationError(details);
      const { job, status, limit = DEFAULT_LIMIT, after } = filter;
      const values = [nameOfJob(job), after, limit + 1];
      const transaction = currentTransaction();
      const statement = { name: `job_list_${status ?? 'all'}`, text: listSql(status), values };
      const rows = await (transaction?.database.write<Row>(statement) ?? database.readSlowly<Row>(statement));
      const { page, next } = toPage(rows.map(toRecord), limit, ({ id }) => id);
      return { data: page, next };
    },
    async cancel(id) {
      const on = executor();
      const [row] = isId(id) ? await on.write<Row>({ name: 'job_cancel', text: CANCEL, values: [id] }) : [];
      return row === undefined ? refuse(id, on, 'cancelled') : toRecord(row);
    },
    async retry(id, onRetry) {
      const on = executor();
      try {
        const [row] = isId(id) ? await on.write<[number, ...Row]>({ text: RETRY, values: [id] }) : [];
        if (row === undefined) return await refuse(id, on, 'retried');
        const [claims, ...rest] = row;
        const job = toRecord(rest);
        onRetry(job, claims);
        return job;
      } catch (error) {
        if (findViolatedConstraint(error) === undefined) throw error;
        throw new ApiError('CONFLICT', 'Another job with the same key is waiting or running', { cause: error });
      }
    },
  };
}
