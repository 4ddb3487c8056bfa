/** The statuses of a job. `waiting` includes waiting for a later time or for the next attempt. */
export const STATUSES = ['waiting', 'running', 'succeeded', 'failed', 'cancelled'] as const;

export type JobStatus = (typeof STATUSES)[number];

/** How far a run is. */
export interface JobProgress {
  done: number;
  total?: number;
  note?: string;
}

/** A job in a list. Times are ISO 8601. */
export interface JobItem {
  id: string;
  /** The name of its kind. */
  job: string;
  status: JobStatus;
  /** The error of the last attempt. */
  error: string | null;
  progress: JobProgress | null;
  attempts: number;
  /** The earliest time of the next attempt; of a finished job, of its last attempt. */
  runAt: string;
  scheduledAt: string;
  uniqueKey: string | null;
  schedule: string | null;
  /** The id of the user whose request enqueued the job. */
  user: string | null;
  requestId: string | null;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
}

/** A job with its input and result, which are JSON. */
export interface Job extends JobItem {
  input: unknown;
  result: unknown;
}

/** A kind of job, with the numbers of its stored jobs. */
export interface JobKind {
  name: string;
  description: string | null;
  isDeclared: boolean;
  hasInput: boolean;
  counts: Record<JobStatus, number>;
  /** How many of the waiting jobs are due later. */
  scheduled: number;
}

/** A schedule with its next and its last tick. */
export interface Schedule {
  name: string;
  /** The name of the job that it enqueues. */
  job: string;
  cron: string;
  timeZone: string;
  nextAt: string | null;
  lastAt: string | null;
}

/** The kinds of jobs and the schedules of the app. */
export interface JobOverview {
  kinds: JobKind[];
  /** Statuses whose counts are lower bounds. */
  cappedStatuses: JobStatus[];
  schedules: Schedule[];
}
