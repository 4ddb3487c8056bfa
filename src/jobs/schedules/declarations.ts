import { z } from 'zod';
import type { ScheduleDeclaration } from '../../declare/job.ts';
import type { AnyJob } from '../../declare/job-queue.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import { parseSettings } from '../../platform/helpers/parse-settings.ts';
import {
  type CompiledJob,
  type CompiledJobs,
  checkInput,
  checkName,
  reportOptionIssues,
} from '../declarations/declarations.ts';
import { toStorableJson } from '../declarations/values.ts';
import { type CronTicks, findCronError, isTimeZone, parseCron } from './cron.ts';

const optionsSchema = z.strictObject({
  cron: z.string({ error: 'must be a cron expression, such as "0 2 * * *"' }),
  job: z.custom<AnyJob>((job) => typeof (job as Partial<AnyJob> | null)?.name === 'string', {
    error: 'must be a job created with defineJob',
  }),
  input: z.unknown().optional(),
  name: z.string({ error: 'must be a text' }).optional(),
  timeZone: z.string({ error: 'must be a time zone, such as Europe/Berlin' }).default('UTC'),
  catchUp: z.enum(['none', 'latest', 'all'], { error: "must be 'none', 'latest' or 'all'" }).default('latest'),
  overlap: z.enum(['skip', 'allow'], { error: "must be 'skip' or 'allow'" }).default('skip'),
});

/** A schedule that is ready to be used. */
export interface CompiledSchedule extends Pick<z.output<typeof optionsSchema>, 'timeZone' | 'catchUp' | 'overlap'> {
  name: string;
  job: CompiledJob;
  /** The cron expression, with one space between its fields. */
  cron: string;
  /** The input as JSON; null without input. */
  input: string | null;
  ticks: CronTicks;
  /** The cron expression and the time zone: if this changes between deployments, the next tick is computed anew. */
  definition: string;
}

/** Checks the input of a schedule. Returns its JSON; undefined after an error was reported. */
function compileInput(job: CompiledJob, input: unknown, errors: ConfigErrors): string | null | undefined {
  const json = input === undefined ? undefined : toStorableJson(input);
  if (json?.error !== undefined) return void errors.at('input').report(json.error);
  const checked = checkInput(job, json && JSON.parse(json.text));
  // An asynchronous schema cannot be awaited here. It checks the input when the job runs.
  if (checked instanceof Promise) checked.catch(() => undefined);
  else if (checked.details !== undefined) {
    for (const [name, message] of Object.entries(checked.details)) errors.at(name).report(message);
    return undefined;
  }
  return json?.text ?? null;
}

function compileSchedule(
  declared: z.output<typeof optionsSchema>,
  jobs: CompiledJobs,
  errors: ConfigErrors,
): CompiledSchedule | undefined {
  const { timeZone, catchUp, overlap } = declared;
  const cron = declared.cron.trim().split(/\s+/).join(' ');
  const job = jobs.get(declared.job.name);
  if (job === undefined)
    errors
      .at('job')
      .report(`"${declared.job.name}" is not in jobs${suggestKnownNames(declared.job.name, 'jobs', jobs.keys())}`);
  const cronError = findCronError(declared.cron, Date.now());
  if (cronError !== undefined) errors.at('cron').report(`"${declared.cron}" ${cronError}`);
  const isKnownZone = isTimeZone(timeZone);
  if (!isKnownZone) errors.at('timeZone').report(`"${timeZone}" is not a time zone; write UTC or Europe/Berlin`);
  const input = job === undefined ? undefined : compileInput(job, declared.input, errors);
  if (job === undefined || cronError !== undefined || !isKnownZone || input === undefined) return undefined;
  const name = declared.name ?? job.name;
  const definition = `${cron.toUpperCase()} ${timeZone}`;
  return { name, job, cron, input, timeZone, catchUp, overlap, ticks: parseCron(cron, timeZone), definition };
}

/** Compiles the option `schedules` of `createApp`. Schedules with errors are reported and left out. */
export function compileSchedules(
  declared: readonly ScheduleDeclaration[],
  jobs: CompiledJobs,
  errors: ConfigErrors,
): CompiledSchedule[] {
  const names = new Set<string>();
  return declared.flatMap((schedule, i) => {
    const given = schedule as Partial<ScheduleDeclaration> | null;
    const name = given?.name ?? given?.job?.name;
    const at = errors.at(typeof name === 'string' ? `schedule "${name}"` : `schedules[${i}]`);
    if (typeof name === 'string') {
      checkName(name, at);
      if (names.has(name)) at.report('another schedule has this name. Set a name of its own');
      names.add(name);
    }
    const parsed = parseSettings(optionsSchema, schedule);
    if (parsed.success) return compileSchedule(parsed.data, jobs, at) ?? [];
    reportOptionIssues(optionsSchema, parsed.error, at);
    return [];
  });
}
