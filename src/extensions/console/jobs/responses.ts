// What the routes of the tab respond with. Times are ISO 8601.
import type { JobKind, JobOverview, JobRecord, JobStatus, ScheduleState } from '../../../declare/job-record.ts';
import type { FieldInfo } from '../data/responses.ts';

export type { JobStatus, ScheduleState };

/** A job in a list: without its input and result, which may be large. */
export interface JobItem extends Omit<JobRecord, 'input' | 'result'> {
  /** The name of its kind for people. */
  label: string;
}

/** A value of JSON with its label for people: a single value, or the members of an object or a list. */
export interface ShownValue {
  /** Left out for items of a list. */
  label?: string;
  /** How the value is shown: `date`, `enum`, … */
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
/** A job with its input and result as they are shown. */
export interface Job extends JobItem {
  input: ShownStored | null;
  result: ShownStored | null;
  /** null: the app no longer declares the job. */
  maxAttempts: number | null;
}

/** A field of the form for an input. */
export interface InputField extends FieldInfo {
  /** An empty field is sent as `null`, because the schema requires the member and allows `null`. */
  emptyAsNull?: true;
  inner?: InputField;
  shape?: readonly InputField[];
}
/** The form for the input of a job. */
export interface InputForm {
  /** null: no form can express the input, so it is edited as JSON. */
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

/** A kind of job with its name for people. */
export type ListedKind = JobKind & { label: string };

/** The kinds of jobs and the schedules of the app. */
export type ListedJobs = Omit<JobOverview, 'kinds'> & { kinds: readonly ListedKind[] };
