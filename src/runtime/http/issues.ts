import { issuePath, type StandardIssue } from '../../declare/standard-schema.ts';
import { MAX_DETAILS } from '../../platform/errors.ts';

interface Issue extends StandardIssue {
  /** What zod says beyond the convention. */
  readonly code?: string;
  readonly expected?: string;
  readonly keys?: readonly string[];
}

/** What is wrong with a value, in the words of the contract where the library has none that somebody chose. */
export interface IssueDetail {
  /** The keys that lead to what is wrong; empty for the whole. */
  path: string[];
  kind: 'unknown' | 'missing' | 'repeated' | 'other';
  /** What the library says. */
  message: string;
}

// What zod, valibot and arktype say of a value of the wrong type when the declaration names no message.
const UNCHOSEN = /^Invalid (?:input|option|key|type)\b|\(was (?:missing|an object)\)$/;

function valueAt(root: unknown, path: readonly string[]): unknown {
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
  if (path.length === 0 && issue.expected === 'object' && UNCHOSEN.test(message))
    return [{ path, kind: 'other', message: 'Must be an object' }];
  if (path.length === 0 || !UNCHOSEN.test(message)) return [{ path, kind: 'other', message }];
  const value = valueAt(root, path);
  const kind = value === undefined ? 'missing' : Array.isArray(value) ? 'repeated' : 'other';
  return [{ path, kind, message }];
}

/**
 * What a Standard Schema found, as far as an error names it.
 *
 * @param root what it was given
 */
export function describeIssues(issues: readonly StandardIssue[], root: unknown): IssueDetail[] {
  return issues.slice(0, MAX_DETAILS).flatMap((issue) => describeIssue(issue, root));
}
