import type { FieldInfo } from '../../console/kit.ts';

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
  /** The name of its kind for people. */
  label: string;
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

/** A value with its label: a single value, or the members of an object or a list. */
export interface ShownValue {
  /** Left out for items of a list. */
  label?: string;
  /** The type of its field: `date`, `enum`, … */
  type?: string;
  value?: string | number | boolean | null;
  rows?: readonly ShownValue[];
  /** Of an input that is not sent yet: it leaves the member out, so that its default applies. */
  isDefault?: boolean;
}

/** What is shown of an input or a result. */
export interface ShownStored {
  rows: readonly ShownValue[];
  /** The beginning of the JSON. */
  json: string;
  /** Whether there is more than what is shown. */
  isCut: boolean;
}

/** A job with its input and result. */
export interface Job extends JobItem {
  input: ShownStored | null;
  result: ShownStored | null;
  /** null: the app no longer declares the job. */
  maxAttempts: number | null;
}

/** A field of the form for an input. */
export interface InputField extends FieldInfo {
  /** An empty field is sent as `null`. */
  emptyAsNull?: true;
  inner?: InputField;
  shape?: readonly InputField[];
}

/** The form for the input of a kind of job. */
export interface InputForm {
  /** null: the input is edited as JSON. */
  fields: readonly InputField[] | null;
  /** Whether a job without input is valid. */
  isOptional: boolean;
}

/** A declared kind of job. */
export interface KindDescription {
  name: string;
  label: string;
  description: string | null;
  /** null: it has no input. */
  input: InputForm | null;
}

/** A kind of job, with the numbers of its stored jobs. */
export interface JobKind {
  name: string;
  label: string;
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
