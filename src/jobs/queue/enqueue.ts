import { getOrganisationRole } from '../../declare/actor.ts';
import type { EnqueuedJob, EnqueueOptions } from '../../declare/job-queue.ts';
import type { CallerTransaction } from '../../declare/service.ts';
import { isStorable, UNSTORABLE } from '../../platform/data/postgres/values.ts';
import { createMicroBatch } from '../../platform/helpers/concurrency/micro-batch.ts';
import { describeType } from '../../platform/helpers/config-errors.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import { ApiError, type ErrorDetails, validationError } from '../../platform/helpers/errors.ts';
import { newId } from '../../platform/helpers/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import { parseDateToIso } from '../../records/fields/types/date.ts';
import { currentActor } from '../../rules/acting.ts';
import { type CompiledJob, type CompiledJobs, checkInput } from '../declarations/declarations.ts';
import { checkOptionNames, toStorableJson } from '../declarations/values.ts';
import { createQueueEntries, createWakeUp, LATE_COMMIT_MS, type QueuedRow, queueOfJob } from './queue.ts';

/** The maximum number of jobs that one statement stores. */
const MAX_BATCH = 100;
/** The maximum number of entries in one call of the queue. */
const MAX_ENTRIES = 1000;
const MAX_KEY_LENGTH = 200;
const MAX_YEARS_AHEAD = 10;
const OPTION_NAMES = ['runAt', 'uniqueKey'];
/** The job with the same key may finish between the two statements, again and again. */
const MAX_UNIQUE_TRIES = 10;

/** ms. A job that is committed later than this after its insert may be due before the start of the searches, so it gets an entry of its own. */
const NAMED_AFTER_MS = LATE_COMMIT_MS / 2;

// Not the time of the transaction: a job that is stored late in a long one would look overdue to the sweep. A time in the past counts as now,
// because searches for due jobs begin behind it.
const COLUMNS =
  'id, name, input, run_at, scheduled_at, unique_key, user_id, request_id, trace, organisation_role, created_at';
const VALUES = `$1, $2, $3::jsonb, greatest($4::timestamptz, clock_timestamp()), coalesce($4::timestamptz, clock_timestamp()), $5, $6, $7, $8, $9, clock_timestamp()`;
const INSERT = `insert into background_jobs (${COLUMNS}) values (${VALUES})`;
const INSERT_MANY = `
  insert into background_jobs (${COLUMNS})
  select id, name, input::jsonb, greatest(at, clock_timestamp()), coalesce(at, clock_timestamp()), unique_key, user_id, request_id,
    trace, organisation_role, clock_timestamp()
  from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
    job(id, name, input, at, unique_key, user_id, request_id, trace, organisation_role)`;
// Uses index background_jobs_unique_key_index, and waits for other transactions that insert the same key.
const INSERT_UNIQUE = `${INSERT}
  on conflict (name, unique_key) where unique_key is not null and finished_at is null do nothing returning 1`;
const FIND_UNIQUE = 'select id from background_jobs where name = $1 and unique_key = $2 and finished_at is null';

type EnqueueDependencies = Pick<Platform, 'database' | 'queues' | 'tracing'>;

function findRunAtError(runAt: unknown): string | undefined {
  const isTime = runAt instanceof Date || typeof runAt === 'string' || typeof runAt === 'number';
  // Date.parse reads 30 February as a day in March.
  const isDay = typeof runAt !== 'string' || !/^\d{4}-\d{2}-\d{2}/.test(runAt) || parseDateToIso(runAt) !== undefined;
  const at = isTime && isDay ? new Date(runAt as string).getTime() : Number.NaN;
  if (Number.isNaN(at)) return 'Must be a time: a Date, ISO 8601 or epoch milliseconds';
  const end = new Date();
  end.setUTCFullYear(end.getUTCFullYear() + MAX_YEARS_AHEAD);
  if (at > end.getTime()) return `Must be at most ${MAX_YEARS_AHEAD} years ahead`;
  return at < 0 ? 'Must not be before 1970' : undefined;
}

function findUniqueKeyError(key: unknown): string | undefined {
  if (typeof key !== 'string' || key === '') return 'Must be a text';
  if (key.length > MAX_KEY_LENGTH) return `Must be at most ${MAX_KEY_LENGTH} characters`;
  return isStorable(key) ? undefined : UNSTORABLE;
}

/** @returns a message per invalid option */
function checkEnqueueOptions(options: EnqueueOptions): ErrorDetails {
  const unknown = checkOptionNames('options', options, OPTION_NAMES);
  // `null` and a text have no options to check.
  if ('options' in unknown) return unknown;
  const { runAt, uniqueKey } = options;
  const runAtError = runAt === undefined ? undefined : findRunAtError(runAt);
  const uniqueKeyError = uniqueKey === undefined ? undefined : findUniqueKeyError(uniqueKey);
  return {
    ...unknown,
    ...(runAtError === undefined ? {} : { runAt: runAtError }),
    ...(uniqueKeyError === undefined ? {} : { uniqueKey: uniqueKeyError }),
  };
}

/** @returns the JSON of a valid input; null without input */
async function checkAndStringify(job: CompiledJob, input: unknown, details: ErrorDetails): Promise<string | null> {
  const json = input === undefined ? undefined : toStorableJson(input);
  // The schema checks what the run will get: the input after its way through JSON.
  const checked =
    json?.error === undefined
      ? await checkInput(job, json && JSON.parse(json.text))
      : { details: { input: json.error } };
  const all = { ...details, ...checked.details };
  if (Object.keys(all).length > 0) throw validationError(all);
  return json?.text ?? null;
}

/** A job that is stored in Postgres. */
interface StoredRow extends QueuedRow {
  queue: string;
  /** Whether the job needs an entry of its own: a search for due jobs may not find it. */
  isNamed: boolean;
}

/** Enqueues a job, in the caller's transaction if there is one. */
type EnqueueJob = (job: CompiledJob, input: unknown, options?: EnqueueOptions) => Promise<EnqueuedJob>;

/**
 * Creates the function that enqueues jobs.
 *
 * @param currentTransaction returns the transaction of the calling code
 */
export function createEnqueue(
  { database, queues, tracing }: EnqueueDependencies,
  currentTransaction: () => CallerTransaction | undefined,
): EnqueueJob {
  /** Stores a job, unless one with its key is waiting or running. */
  async function insertUnique(
    executor: CallerTransaction['database'],
    values: readonly unknown[],
  ): Promise<EnqueuedJob> {
    const [id, name, , , key] = values as [string, string, unknown, unknown, string];
    for (let tries = 1; tries <= MAX_UNIQUE_TRIES; tries++) {
      const inserted = await executor.write({ name: 'job_insert_unique', text: INSERT_UNIQUE, values: [...values] });
      if (inserted.length > 0) return { id, created: true };
      const [existing] = await executor.write<[string]>({ text: FIND_UNIQUE, values: [name, key] });
      if (existing !== undefined) return { id: existing[0], created: false };
    }
    throw new ApiError('UNAVAILABLE', 'Jobs with this key begin and end too quickly; try again');
  }

  /** Stores jobs that belong to no transaction and have no key. @param items the parameters of `INSERT` */
  async function insertBatch(items: (readonly unknown[])[]): Promise<void> {
    if (items.length === 1) await database.write({ name: 'job_insert', text: INSERT, values: [...items[0]!] });
    else {
      const values = Array.from({ length: 9 }, (_, i) => items.map((item) => item[i] ?? null));
      await database.write({ name: 'job_insert_many', text: INSERT_MANY, values });
    }
  }
  const addInsert = createMicroBatch(insertBatch, MAX_BATCH);
  /** Tells the workers about stored jobs: with an entry of its own if a search for due jobs may not find it, otherwise with one for all. */
  async function addEntries(stored: StoredRow[]): Promise<void> {
    const adding = [...Map.groupBy(stored, ({ queue }) => queue)].map(([queue, own]) => {
      const [named = [], found = []] = [true, false].map((isNamed) => own.filter((row) => row.isNamed === isNamed));
      return queues.add(queue, [...createQueueEntries(named), ...found.slice(0, 1).map(({ id }) => createWakeUp(id))]);
    });
    await Promise.all(adding);
  }
  const tellWorkers = createMicroBatch(addEntries, MAX_ENTRIES);

  return async (job, input, options = {}) => {
    // Read these before the first await: a call that is not awaited may outlive the transaction.
    const transaction = currentTransaction();
    const actor = currentActor();
    const text = await checkAndStringify(job, input, checkEnqueueOptions(options));
    const { uniqueKey } = options;
    const runAt = options.runAt === undefined ? undefined : new Date(options.runAt);
    const id = newId();
    const at = runAt?.toISOString();
    const { user, requestId } = actor ?? {};
    const role = getOrganisationRole(user);
    const values = [id, job.name, text, at, uniqueKey, user?.id, requestId, tracing.current(), role];
    const delayMs = runAt === undefined ? 0 : runAt.getTime() - Date.now();
    const insertedAt = performance.now();
    const executor = transaction?.database ?? database;
    if (uniqueKey !== undefined) {
      const enqueued = await insertUnique(executor, values);
      if (!enqueued.created) return enqueued;
    } else if (transaction === undefined) {
      // Jobs that are enqueued while the previous statement runs are stored together.
      await addInsert(values);
    } else await executor.write({ name: 'job_insert', text: INSERT, values });
    // No need to wait: this never fails, and a sweep adds the entry if Redis is down.
    const addEntry = () => {
      const isNamed = delayMs > 0 || performance.now() - insertedAt > NAMED_AFTER_MS;
      void tellWorkers({ id, claims: 0, delayMs, queue: queueOfJob(job.name), isNamed });
    };
    if (transaction === undefined) addEntry();
    else transaction.afterCommit(addEntry);
    return { id, created: true };
  };
}

/** Returns the name of a job by its declaration or name. @throws TypeError if it is neither */
function nameOfJob(job: unknown): string {
  const name = typeof job === 'object' ? (job as { name?: unknown } | null)?.name : job;
  if (typeof name === 'string') return name;
  const type = typeof job === 'object' && job !== null ? 'an object without a name' : describeType(job);
  throw new TypeError(`jobs.enqueue(job, input, options): job must be a declaration or its name, not ${type}`);
}

/** Returns a declared job by its declaration or name. @throws TypeError if it is neither; Error if it is not declared */
export function findDeclaredJob(jobs: CompiledJobs, job: unknown): CompiledJob {
  const name = nameOfJob(job);
  const declared = jobs.get(name);
  if (declared !== undefined) return declared;
  throw new Error(`there is no job "${name}" in createApp({ jobs })${suggestKnownNames(name, 'jobs', jobs.keys())}`);
}
