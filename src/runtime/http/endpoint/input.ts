import type { Route, RouteContext } from '../../../declare/route.ts';
import { ApiError, type ErrorDetails, validationError } from '../../../platform/helpers/errors.ts';
import { tooManyKeysMessage } from '../../../platform/helpers/json/json-limits.ts';
import type { StandardSchema } from '../../../platform/helpers/standard-schema.ts';
import { describeFieldIssue, describeIssues, type IssueDetail } from '../../../platform/helpers/standard-schema.ts';
import { shortenForMessage } from '../../../records/query/parameter.ts';
import type { Stage } from './exchange.ts';

/** Returns the first `maxKeys` fields of an object that has more, which keeps validation cheap; undefined for any other value. */
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
async function validateQuery(schema: StandardSchema, query: unknown): Promise<unknown> {
  const result = await schema['~standard'].validate(query);
  if (result.issues === undefined) return result.value;
  const [first] = describeIssues(result.issues, query);
  throw new ApiError('BAD_REQUEST', first && describeQueryIssue(first));
}

/**
 * Creates the stage that reads the query, and checks it against the schema of the route if it has one. A malformed query string is refused
 * here, and not earlier: a caller without access learns nothing about it.
 */
export function createQueryStage({ query: schema }: Route): Stage {
  if (schema === undefined) {
    return {
      name: 'read the query',
      run(exchange) {
        exchange.query = exchange.req.query as RouteContext['query'];
      },
    };
  }
  return {
    name: 'validate the query',
    async run(exchange) {
      exchange.query = (await validateQuery(schema, exchange.req.query)) as RouteContext['query'];
    },
  };
}

/** Creates the stage that checks the body against the schema of the route; undefined if it has none. */
export function createInputStage({ input: schema }: Route, maxKeys: number): Stage | undefined {
  if (schema === undefined) return undefined;
  return {
    name: 'validate the input',
    async run(exchange) {
      exchange.input = await validateBody(schema, exchange.body, maxKeys);
    },
  };
}
