import type { JobStatus } from './job-queue.ts';

/** A kind of job, with the numbers of its stored jobs. */
export interface JobKind {
  name: string;
  description: string | null;
  /** Whether the app declares it. Jobs of other kinds wait until it does. */
  isDeclared: boolean;
  /** Whether its jobs have an input. */
  hasInput: boolean;
  counts: Readonly<Record<JobStatus, number>>;
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

/** The jobs and schedules of an app, for tools. */
export interface JobOverview {
  /** The declared kinds in the order of their declaration, then the others. */
  kinds: readonly JobKind[];
  /** Statuses whose counting stopped at its limit: their counts are lower bounds. */
  cappedStatuses: readonly JobStatus[];
  schedules: readonly ScheduleState[];
}
