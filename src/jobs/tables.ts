import {
  index,
  integer,
  jsonb,
  pgTable,
  sql,
  text,
  timestamptz,
  uniqueIndex,
} from '../platform/data/postgres/drizzle.ts';

/** Jobs that wait, run, or have finished. */
const backgroundJobs = pgTable(
  'background_jobs',
  {
    id: text('id').primaryKey(),
    /** The name of the job's declaration. */
    name: text('name').notNull(),
    /** As passed to `enqueue`; null without input. */
    input: jsonb('input'),
    /** `waiting`, `running`, `succeeded`, `failed` or `cancelled`. */
    status: text('status').notNull().default('waiting'),
    /** The earliest time of the next attempt. */
    runAt: timestamptz('run_at').notNull().defaultNow(),
    /** The time for which the job was enqueued; retries do not change it. */
    scheduledAt: timestamptz('scheduled_at').notNull().defaultNow(),
    uniqueKey: text('unique_key'),
    /** Attempts since the job was enqueued, or retried by hand. */
    attempts: integer('attempts').notNull().default(0),
    /** The number of claims, which is never reset: the fence of the current claim. A retry by hand counts, too. */
    claims: integer('claims').notNull().default(0),
    /** The end of the lease of the worker that runs the job; null: no worker runs it. */
    leaseUntil: timestamptz('lease_until'),
    /** `{ done, total?, note? }`. */
    progress: jsonb('progress'),
    result: jsonb('result'),
    /** The error of the last attempt. */
    error: text('error'),
    /** The schedule that enqueued the job; `scheduled_at` is its tick. */
    schedule: text('schedule'),
    /** The user whose request enqueued the job, or an organisation: see `organisation_role`. */
    userId: text('user_id'),
    requestId: text('request_id'),
    /** The `traceparent` of the span that enqueued the job. */
    trace: text('trace'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    /** The start of the last attempt. */
    startedAt: timestamptz('started_at'),
    finishedAt: timestamptz('finished_at'),
    /** The role as which an organisation enqueued the job: then `user_id` is the id of the organisation. */
    organisationRole: text('organisation_role'),
  },
  (table) => [
    uniqueIndex('background_jobs_unique_key_index')
      .on(table.name, table.uniqueKey)
      .where(sql`unique_key is not null and finished_at is null`),
    // A tick is enqueued once, however many relays there are.
    uniqueIndex('background_jobs_tick_index').on(table.schedule, table.scheduledAt).where(sql`schedule is not null`),
    index('background_jobs_waiting_index').on(table.name, table.runAt).where(sql`status = 'waiting'`),
    index('background_jobs_running_index').on(table.leaseUntil).where(sql`status = 'running'`),
    index('background_jobs_open_tick_index')
      .on(table.schedule)
      .where(sql`schedule is not null and finished_at is null`),
    index('background_jobs_done_index').on(table.finishedAt).where(sql`status in ('succeeded', 'cancelled')`),
    index('background_jobs_failed_index').on(table.finishedAt).where(sql`status = 'failed'`),
    // For lists of failed jobs.
    index('background_jobs_failed_id_index').on(table.id).where(sql`status = 'failed'`),
    index('background_jobs_user_index').on(table.userId, table.id).where(sql`user_id is not null`),
  ],
);

/** When each schedule is next due. */
const backgroundSchedules = pgTable('background_schedules', {
  name: text('name').primaryKey(),
  /** The cron expression and the time zone from which `next_at` was computed. */
  definition: text('definition').notNull(),
  /** The next tick. */
  nextAt: timestamptz('next_at').notNull(),
  /** The last tick that was handled, whether or not it was enqueued; null: none. */
  lastAt: timestamptz('last_at'),
});

/** The tables of jobs, by name. */
export const jobTables = { background_jobs: backgroundJobs, background_schedules: backgroundSchedules };
