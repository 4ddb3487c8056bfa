import { MAX_DETAILS } from './errors.ts';

/** A library's schema by the Standard Schema convention (https://standardschema.dev): zod, valibot, arktype and others. */
export interface StandardSchema<Output = unknown, Input = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** A validation error: its message and its path in the value. */
interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The path of an issue, as a list of keys. */
export function issuePath({ path }: StandardIssue): string[] {
  // Not with map(): a library's path may be a subclass of Array whose map() returns that subclass.
  return Array.from(path ?? [], (part) => String(typeof part === 'object' ? part.key : part));
}

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
export function describeIssues(issues: readonly StandardIssue[], root: unknown): IssueDetail[] {
  return issues.slice(0, MAX_DETAILS).flatMap((issue) => describeIssue(issue, root));
}

/** Describes one problem with a field for a client. */
export function describeFieldIssue({ kind, message }: IssueDetail): string {
  if (kind === 'unknown') return 'Unknown field';
  return kind === 'missing' ? 'Is required' : message;
}
