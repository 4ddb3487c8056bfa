import type { StandardSchema } from '../../declare/standard-schema.ts';
import { type ErrorDetails, validationError } from '../../platform/errors.ts';
import { tooManyKeys } from '../../platform/excessive-json.ts';
import { describeIssues, type IssueDetail } from './issues.ts';

function fieldMessage({ kind, message }: IssueDetail): string {
  if (kind === 'unknown') return 'Unknown field';
  return kind === 'missing' ? 'Is required' : message;
}

/** The first fields of an object with too many, so that its check stays cheap; undefined for any other value. */
function firstFields(value: unknown, maxKeys: number): Record<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const names = Object.keys(value);
  if (names.length <= maxKeys) return undefined;
  return Object.fromEntries(names.slice(0, maxKeys).map((name) => [name, (value as Record<string, unknown>)[name]]));
}

/**
 * Checks a body by a Standard Schema.
 *
 * @param maxKeys fields that the body may have
 * @returns the schema's output
 * @throws ApiError VALIDATION_ERROR with a message per field
 */
export async function checkInput(schema: StandardSchema, body: unknown, maxKeys: number): Promise<unknown> {
  const first = firstFields(body, maxKeys);
  const given = first ?? (body === undefined ? {} : body);
  const result = await schema['~standard'].validate(given);
  if (result.issues === undefined) {
    if (first !== undefined) throw validationError({ body: tooManyKeys(maxKeys) });
    return result.value;
  }
  const details: ErrorDetails = Object.create(null);
  for (const one of describeIssues(result.issues, given)) details[one.path.join('.') || 'body'] ??= fieldMessage(one);
  throw validationError({ ...details });
}
