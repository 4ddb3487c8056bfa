import { issuePath, type StandardIssue, type StandardSchema } from '../../declare/standard-schema.ts';
import { type ErrorDetails, validationError } from '../../platform/errors.ts';

interface Issue extends StandardIssue {
  /** What zod says beyond the convention. */
  readonly code?: string;
  readonly keys?: readonly string[];
}

function addIssue(details: ErrorDetails, issue: Issue): void {
  const path = issuePath(issue).join('.');
  if (issue.code === 'unrecognized_keys' && issue.keys !== undefined) {
    for (const key of issue.keys) details[path === '' ? key : `${path}.${key}`] ??= 'Unknown field';
  } else details[path === '' ? 'body' : path] ??= issue.message;
}

/**
 * Checks a body by a Standard Schema.
 *
 * @returns the schema's output
 * @throws ApiError VALIDATION_ERROR with a message per field
 */
export async function checkInput(schema: StandardSchema, body: unknown): Promise<unknown> {
  const result = await schema['~standard'].validate(body === undefined ? {} : body);
  if (result.issues === undefined) return result.value;
  const details: ErrorDetails = Object.create(null);
  for (const issue of result.issues as readonly Issue[]) addIssue(details, issue);
  throw validationError({ ...details });
}
