import { issuePath, type StandardIssue, type StandardSchema } from '../../declare/field.ts';
import { ApiError, type ErrorDetails, MAX_DETAILS, validationError } from '../../platform/errors.ts';
import { tooManyKeysMessage } from '../../platform/json/json-limits.ts';
import { shortenForMessage } from '../../records/query/parameter.ts';

interface Issue extends StandardIssue {
  /** Properties that zod adds to the convention. */
  readonly code?: string;
  readonly expected?: string;
  readonly keys?: readonly string[];
}

/** One problem with a value, described in Belfry's words unless the schema has a custom message. */
export interface IssueDetail {
  /** The keys that lead to the invalid part; empty for the whole value. */
  path: string[];
  kind: 'unknown' | 'missing' | 'repeated' | 'other';
  /** The message of the schema library. */
  message: string;
}

// Default messages of zod, valibot and arktype for a value of the wrong type.
const DEFAULT_TYPE_MESSAGE = /^Invalid (?:input|option|key|type)\b|\(was (?:missing|an object)\)$/;

function getValueAtPath(root: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined),
    root,
  );
}

function describeIssue(issue: Issue, root: unknown): IssueDetail[] {
  const path = issuePath(issue);
  const { message } = issue;
  if (issue.code === 'unrecognized_keys' && issue.keys !== undefined)
    return issue.keys.slice(0, MAX_DETAILS).map((key) => ({ path: [...path, key], kind: 'unknown', message }));
  if (path.length === 0 && issue.expected === 'object' && DEFAULT_TYPE_MESSAGE.test(message))
    return [{ path, kind: 'other', message: 'Must be an object' }];
  if (path.length === 0 || !DEFAULT_TYPE_MESSAGE.test(message)) return [{ path, kind: 'other', message }];
  const value = getValueAtPath(root, path);
  const kind = value === undefined ? 'missing' : Array.isArray(value) ? 'repeated' : 'other';
  return [{ path, kind, message }];
}

/**
 * Describes the issues that a Standard Schema found, up to the maximum number of details.
 *
 * @param root the validated value
 */
function describeIssues(issues: readonly StandardIssue[], root: unknown): IssueDetail[] {
  return issues.slice(0, MAX_DETAILS).flatMap((issue) => describeIssue(issue, root));
}

function describeFieldIssue({ kind, message }: IssueDetail): string {
  if (kind === 'unknown') return 'Unknown field';
  return kind === 'missing' ? 'Is required' : message;
}

/** Returns the first `maxKeys` fields of an object that has more, so that validation stays cheap; undefined for any other value. */
function takeFirstFields(value: unknown, maxKeys: number): Record<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const names = Object.keys(value);
  if (names.length <= maxKeys) return undefined;
  return Object.fromEntries(names.slice(0, maxKeys).map((name) => [name, (value as Record<string, unknown>)[name]]));
}

/**
 * Validates a body with a Standard Schema.
 *
 * @param maxKeys the maximum number of fields in the body
 * @returns the schema's output
 * @throws ApiError VALIDATION_ERROR with a message per field
 */
export async function validateBody(schema: StandardSchema, body: unknown, maxKeys: number): Promise<unknown> {
  const first = takeFirstFields(body, maxKeys);
  const given = first ?? (body === undefined ? {} : body);
  const result = await schema['~standard'].validate(given);
  if (result.issues === undefined) {
    if (first !== undefined) throw validationError({ body: tooManyKeysMessage(maxKeys) });
    return result.value;
  }
  const details: ErrorDetails = Object.create(null);
  for (const detail of describeIssues(result.issues, given))
    details[detail.path.join('.') || 'body'] ??= describeFieldIssue(detail);
  throw validationError({ ...details });
}

function describeQueryIssue({ path, kind, message }: IssueDetail): string {
  if (path.length === 0) return `The query string is invalid: ${message}`;
  const name = `query parameter "${shortenForMessage(path.join('.'))}"`;
  if (kind === 'unknown') return `Unknown ${name}`;
  if (kind === 'missing') return `The ${name} is required`;
  return kind === 'repeated' ? `The ${name} must be given once` : `The ${name}: ${message}`;
}

/**
 * Validates the parameters of a query string with a Standard Schema.
 *
 * @param query a flat object; a repeated parameter is an array
 * @returns the schema's output
 * @throws ApiError BAD_REQUEST naming the first invalid parameter
 */
export async function validateQuery(schema: StandardSchema, query: unknown): Promise<unknown> {
  const result = await schema['~standard'].validate(query);
  if (result.issues === undefined) return result.value;
  const [first] = describeIssues(result.issues, query);
  throw new ApiError('BAD_REQUEST', first && describeQueryIssue(first));
}
