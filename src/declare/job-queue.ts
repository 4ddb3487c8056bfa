import type { StandardSchema } from '../platform/helpers/standard-schema.ts';
import type { JobOverview, JobRecord, JobStatus } from './job-record.ts';

/** How failed attempts of a job are retried: the wait doubles with each attempt, and is up to a fifth shorter or longer at random. */
export interface JobRetry {
  /** The maximum number of attempts, 1 to 100. Default 5. */
  attempts?: number | undefined;
  /** ms from the first failed attempt to the second one. Default 1000. */
  firstDelayMs?: number | undefined;
  /** The maximum of that wait in ms. Default 600,000: ten minutes. */
  maxDelayMs?: number | undefined;
}

/** The settings of a job. */
export interface JobSettings<Input = undefined, Output = Input> {
  /** What the job does, for people. */
  description?: string | undefined;
  /** Checks the input: zod, or any Standard Schema. Input travels as JSON, so the schema must accept JSON. Without it, the job has no input. */
  input?: StandardSchema<Output, Input> | undefined;
  retry?: JobRetry | undefined;
  /** ms after which an attempt has failed, at most a day. Default 600,000: ten minutes. */
  timeoutMs?: number | undefined;
  /** Concurrent runs in each process, 1 to 1000. Default 5. */
  concurrency?: number | undefined;
}

/** A kind of background work, created with `defineJob`. `Input` is the type of the input that is passed to `enqueue`. */
export interface JobDeclaration<Input = undefined> {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: the types of the schema's output and of the context are known to `defineJob` only
  readonly options: JobSettings<any, any> & { run(context: never): unknown };
  /** Type-level only. A function, because the compiler could not infer the input `undefined` from an optional member. */
  readonly $input?: ((input: Input) => Input) | undefined;
}

/** A job with any input. */
// biome-ignore lint/suspicious/noExplicitAny: stands for the input of any job
export type AnyJob = JobDeclaration<any>;

/** When and how often a job runs. */
export interface EnqueueOptions {
  /** The earliest time of the run, at most ten years ahead: a Date, ISO 8601 or epoch ms. Default: now. */
  runAt?: Date | string | number | undefined;
  /** At most one job with this key is waiting or running at a time, for each kind of job. Up to 200 characters. */
  uniqueKey?: string | undefined;
}

/** A job that was enqueued. */
export interface EnqueuedJob {
  id: string;
  /** False if a job with the same `uniqueKey` was waiting or running; `id` is the id of that job. */
  created: boolean;
}

/** Which jobs a list contains. */
export interface JobFilter {
  job?: AnyJob | string | undefined;
  status?: JobStatus | undefined;
  /** 1 to 100. Default 20. */
  limit?: number | undefined;
  /** The `next` of the previous page. */
  after?: string | undefined;
}

/** A job of `createApp({ jobs })`, as its declaration describes it. */
export interface DeclaredJob {
  readonly description?: string | undefined;
  /** Checks the input; left out: the job has none. */
  readonly input?: StandardSchema | undefined;
  readonly retry: { readonly attempts: number };
}

type EnqueueArguments<Input> = undefined extends Input
  ? [input?: Input, options?: EnqueueOptions]
  : [input: Input, options?: EnqueueOptions];

/** Enqueues, lists, cancels and retries jobs. In a transaction or a `before` hook, its writes are part of that transaction. */
export interface Jobs {
  /**
   * Enqueues a job. In a transaction or a `before` hook, the job is stored in that transaction: it runs after the commit, and never if the
   * transaction is rolled back.
   *
   * @param job a declaration of `createApp({ jobs })`, or its name
   * @throws ApiError VALIDATION_ERROR with a message per input; Error for a job that is not declared
   * @example await jobs.enqueue(closeStale, { olderThanDays: 30 }, { runAt: '2030-01-01', uniqueKey: 'all' })
   */
  enqueue<Input>(job: JobDeclaration<Input>, ...input: EnqueueArguments<Input>): Promise<EnqueuedJob>;
  enqueue(job: string, input?: unknown, options?: EnqueueOptions): Promise<EnqueuedJob>;
  /** Returns a job; undefined if there is none with this id. */
  get(id: string): Promise<JobRecord | undefined>;
  /** Returns the declared kinds with the numbers of their jobs, counted up to 10,000, and the schedules with their ticks. */
  overview(): Promise<JobOverview>;
  /** Returns a page of jobs, newest first. `next` is the `after` of the next page; null on the last one. */
  list(filter?: JobFilter): Promise<{ data: JobRecord[]; next: string | null }>;
  /**
   * Cancels a job. A waiting job never runs. The `signal` of a running one is aborted within a few seconds, and its result is not stored.
   * Cancelling a cancelled job changes nothing.
   *
   * @throws ApiError NOT_FOUND; CONFLICT if the job has succeeded or failed
   */
  cancel(id: string): Promise<JobRecord>;
  /**
   * Runs a failed or cancelled job again, with all attempts. It starts at once, also if it was cancelled before its time.
   *
   * @throws ApiError NOT_FOUND; CONFLICT if the job has another status, or if its `uniqueKey` has been taken since
   */
  retry(id: string): Promise<JobRecord>;
}
