import type { StandardSchema } from '../../declare/standard-schema.ts';
import { ApiError } from '../../platform/errors.ts';
import { echo } from '../../records/query/parameter.ts';
import { describeIssues, type IssueDetail } from './issues.ts';

function parameterMessage({ path, kind, message }: IssueDetail): string {
  if (path.length === 0) return `The query string: ${message}`;
  const name = `query parameter "${echo(path.join('.'))}"`;
  if (kind === 'unknown') return `Unknown ${name}`;
  if (kind === 'missing') return `The ${name} is required`;
  return kind === 'repeated' ? `The ${name} must be given once` : `The ${name}: ${message}`;
}

/**
 * Checks the parameters of a query string by a Standard Schema.
 *
 * @param query flat; a repeated parameter is an array
 * @returns the schema's output
 * @throws ApiError BAD_REQUEST naming the first parameter that is wrong
 */
export async function checkQuery(schema: StandardSchema, query: unknown): Promise<unknown> {
  const result = await schema['~standard'].validate(query);
  if (result.issues === undefined) return result.value;
  const [first] = describeIssues(result.issues, query);
  throw new ApiError('BAD_REQUEST', first && parameterMessage(first));
}
