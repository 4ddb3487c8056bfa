/** The state of a job. `waiting` includes waiting for a later time or for the next attempt. */
export const JOB_STATUSES = ['waiting', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof JOB_STATUSES)[number];

/** A stored job. Times are ISO 8601. */
export interface JobRecord {
  id: string;
  /** The name of its declaration. */
  job: string;
  status: JobStatus;
  input: unknown;
  /** What `run` returned. */
  result: unknown;
  /** The error of the last attempt. */
  error: string | null;
  progress: { done: number; total?: number; note?: string } | null;
  /** The number of attempts so far. */
  attempts: number;
  /** The earliest time of the next attempt; for a finished job, of its last attempt. */
  runAt: string;
  /** The time for which the job was enqueued. */
  scheduledAt: string;
  uniqueKey: string | null;
  /** The name of the schedule that enqueued the job. */
  schedule: string | null;
  /** The id of the user whose request enqueued the job. */
  user: string | null;
  requestId: string | null;
  createdAt: string;
  /** The start of the last attempt. */
  startedAt: string | null;
  finishedAt: string | null;
  /** The id of the organisation whose own API key enqueued the job; then there is no user. */
  organisation: string | null;
}

/** A kind of job, with the numbers of its stored jobs. */
export interface JobKind {
  name: string;
  description: string | null;
  /** Whether the app declares it. Jobs of other kinds wait until it does. */
  isDeclared: boolean;
  /** Whether its jobs have an input. */
  hasInput: boolean;
  counts: Readonly<Record<JobStatus, number>>;
  /** How many of the waiting jobs are due later: they were enqueued for a later time, or wait for their next attempt. */
  scheduled: number;
}

/** A declared schedule and its ticks. Times are ISO 8601. */
export interface ScheduleState {
  name: string;
  /** The name of the job that it enqueues. */
  job: string;
  cron: string;
  timeZone: string;
  /** The next tick; null if there is none. */
  nextAt: string | null;
  /** The last tick that a relay handled, whether or not it was enqueued; null if there was none. */
  lastAt: string | null;
}

/** The jobs and schedules of an app. */
export interface JobOverview {
  /** The declared kinds in the order of their declaration, then the others. */
  kinds: readonly JobKind[];
  /** Statuses whose counting stopped at its limit: their counts are lower bounds. */
  cappedStatuses: readonly JobStatus[];
  schedules: readonly ScheduleState[];
}
