import { z } from 'zod';
import type { JobContext } from '../../declare/job.ts';
import type { AnyJob } from '../../declare/job-queue.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { suggestClosestName } from '../../platform/helpers/did-you-mean.ts';
import type { ErrorDetails } from '../../platform/helpers/errors.ts';
import { findSchemaKeys, parseSettings } from '../../platform/helpers/parse-settings.ts';
import type { StandardSchema } from '../../platform/helpers/standard-schema.ts';
import { describeFieldIssue, describeIssues } from '../../platform/helpers/standard-schema.ts';

const MAX_MS = 86_400_000;
const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const MAX_NAME_LENGTH = 60;

const wholeNumber = (min: number, max: number) =>
  z
    .number({ error: `must be a whole number from ${min} to ${max}` })
    .refine((value) => Number.isInteger(value) && value >= min && value <= max, {
      error: `must be a whole number from ${min} to ${max}`,
    });

const isSchema = (value: unknown) =>
  typeof (value as Partial<StandardSchema> | null)?.['~standard']?.validate === 'function';

const optionsSchema = z.strictObject({
  description: z.string({ error: 'must be a text' }).optional(),
  input: z.custom<StandardSchema>(isSchema, { error: 'must be a schema: zod or another Standard Schema' }).optional(),
  retry: z
    .strictObject({
      attempts: wholeNumber(1, 100).default(5),
      firstDelayMs: wholeNumber(0, MAX_MS).default(1000),
      maxDelayMs: wholeNumber(0, MAX_MS).default(600_000),
    })
    .prefault({}),
  timeoutMs: wholeNumber(1, MAX_MS).default(600_000),
  concurrency: wholeNumber(1, 1000).default(5),
  run: z.custom<(context: JobContext) => unknown>((value) => typeof value === 'function', {
    error: 'must be a function',
  }),
});

/** A job with all defaults filled. */
export interface CompiledJob extends z.output<typeof optionsSchema> {
  name: string;
}

/** The jobs of an app, by name. */
export type CompiledJobs = ReadonlyMap<string, CompiledJob>;

/** Reports the issues of the options of a declaration, each with the name of its option. */
export function reportOptionIssues(schema: z.ZodType, { issues }: z.ZodError, errors: ConfigErrors): void {
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') errors.at(issue.path.join('.') || 'options').report(issue.message);
    else
      for (const key of issue.keys) {
        const suggestion = suggestClosestName(key, findSchemaKeys(schema, issue.path));
        errors.report(`"${[...issue.path, key].join('.')}" is not an option${suggestion}`);
      }
  }
}

/** Reports the errors of a name. Returns whether the name can be used. */
export function checkName(name: string, errors: ConfigErrors): boolean {
  if (NAME.test(name) && name.length <= MAX_NAME_LENGTH) return true;
  errors.report(
    `the name must be lower case with hyphens, such as "close-stale-tickets", and have at most ${MAX_NAME_LENGTH} characters`,
  );
  return false;
}

/** Compiles the option `jobs` of `createApp`. Jobs with errors are reported and left out. */
export function compileJobs(declared: readonly AnyJob[], errors: ConfigErrors): CompiledJobs {
  const compiled = new Map<string, CompiledJob>();
  for (const [i, job] of declared.entries()) {
    if (typeof job?.name !== 'string' || typeof job.options !== 'object' || job.options === null) {
      errors.at(`jobs[${i}]`).report('must be a job created with defineJob');
      continue;
    }
    const at = errors.at(`job "${job.name}"`);
    const parsed = parseSettings(optionsSchema, job.options);
    if (!parsed.success) reportOptionIssues(optionsSchema, parsed.error, at);
    if (compiled.has(job.name)) at.report('it is declared twice. Rename one');
    if (checkName(job.name, at) && parsed.success) compiled.set(job.name, { name: job.name, ...parsed.data });
  }
  return compiled;
}

/** The result of a check of an input: the output of the schema, or a message per field. */
type CheckedInput = { value: unknown; details?: undefined } | { details: ErrorDetails };

/**
 * Checks the input of a job.
 *
 * @param input a JSON value; undefined without input
 * @returns a promise only if the schema is asynchronous. The details are named `input` and `input.field`
 */
export function checkInput({ input: schema }: CompiledJob, input: unknown): CheckedInput | Promise<CheckedInput> {
  if (schema === undefined)
    return input === undefined ? { value: undefined } : { details: { input: 'This job has no input' } };
  const result = schema['~standard'].validate(input);
  return result instanceof Promise
    ? result.then((awaited) => toCheckedInput(awaited, input))
    : toCheckedInput(result, input);
}

type ValidationResult = Awaited<ReturnType<StandardSchema['~standard']['validate']>>;

function toCheckedInput(result: ValidationResult, input: unknown): CheckedInput {
  if (result.issues === undefined) return { value: result.value };
  const details: ErrorDetails = Object.create(null);
  for (const detail of describeIssues(result.issues, input))
    details[['input', ...detail.path].join('.')] ??= describeFieldIssue(detail);
  return { details: { ...details } };
}
