import type { StandardSchema } from '../../declare/standard-schema.ts';
import { type ErrorDetails, validationError } from '../../platform/errors.ts';
import { type Told, tellIssues } from './issues.ts';

function messageOf({ kind, message }: Told): string {
  if (kind === 'unknown') return 'Unknown field';
  return kind === 'missing' ? 'Is required' : message;
}

/**
 * Checks a body by a Standard Schema.
 *
 * @returns the schema's output
 * @throws ApiError VALIDATION_ERROR with a message per field
 */
export async function checkInput(schema: StandardSchema, body: unknown): Promise<unknown> {
  const given = body === undefined ? {} : body;
  const result = await schema['~standard'].validate(given);
  if (result.issues === undefined) return result.value;
  const details: ErrorDetails = Object.create(null);
  for (const one of tellIssues(result.issues, given)) details[one.path.join('.') || 'body'] ??= messageOf(one);
  throw validationError({ ...details });
}
