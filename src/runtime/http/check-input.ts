import type { StandardSchema } from '../../declare/field.ts';
import { type ErrorDetails, validationError } from '../../platform/errors.ts';

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
  /** What zod says beyond the convention. */
  readonly code?: string;
  readonly keys?: readonly string[];
  readonly input?: unknown;
}

function pathOf(issue: Issue): string {
  return (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.');
}

function addIssue(details: ErrorDetails, issue: Issue): void {
  const path = pathOf(issue);
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
