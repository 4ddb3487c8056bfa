import {
  ApiError,
  type FieldSpec,
  type Fields,
  type ResourceGateway,
  type ReverseRelation,
} from '../../../extension/index.ts';
import type { DataContext } from './context.ts';
import { findTarget } from './field-info.ts';

/** The query string of a route. */
type Query = Readonly<Record<string, unknown>>;

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100;

/** Parameters of lists that choose the form of records, which the console chooses itself. */
const FORM_PARAMETERS = ['include', 'fields'];
/** Parameters of lists that are not filters. */
const LIST_PARAMETERS: ReadonlySet<string> = new Set(['page', 'limit', 'sort', 'after', 'count', 'q', 'deleted']);

/** A part of a path: the field that holds its values, and the resource to which it leads. */
interface PathStep {
  field: FieldSpec;
  target: string | undefined;
}

/** Finds the field or the reverse relation that a part of a path names; undefined for any other name. */
function findStep(data: DataContext, { declaration }: ResourceGateway, part: string): PathStep | undefined {
  const fields = declaration.fields as Fields;
  if (Object.hasOwn(fields, part)) return { field: fields[part]!.spec, target: findTarget(fields[part]!.spec) };
  const relations = (declaration.relations ?? {}) as Record<string, ReverseRelation>;
  if (!Object.hasOwn(relations, part)) return undefined;
  const { target, field } = relations[part]!;
  return { field: (data.gateway(target).declaration.fields as Fields)[field]!.spec, target };
}

/** Whether a path names a write-only field, or follows one. */
function usesWriteOnly(data: DataContext, root: ResourceGateway, path: string): boolean {
  let holder = root;
  for (const part of path.split('.')) {
    const step = findStep(data, holder, part);
    if (step?.field.writeOnly) return true;
    if (step?.target === undefined) return false;
    holder = data.gateway(step.target);
  }
  return false;
}

/**
 * Refuses filters and orders that would reveal the values of write-only fields, which only code may use.
 *
 * @throws ApiError BAD_REQUEST
 */
export function assertNothingSecret(data: DataContext, root: ResourceGateway, query: Query): void {
  // A parameter that is sent twice is a list, which the service joins.
  const sorts =
    query.sort === undefined
      ? []
      : String(query.sort)
          .split(',')
          .map((term) => term.replace(/^-/, ''));
  const filters = Object.keys(query).filter((name) => !LIST_PARAMETERS.has(name));
  for (const parameter of [...sorts, ...filters]) {
    const path = parameter.replace(/\[.*$/, '');
    // Whether a value is set is shown anyway.
    if (parameter.endsWith('[exists]') && !path.includes('.')) continue;
    if (usesWriteOnly(data, root, path))
      throw new ApiError('BAD_REQUEST', `"${path}" uses a write-only field, whose values lists do not compare`);
  }
}

/**
 * Returns the list query of a request, for a service.
 *
 * @throws ApiError BAD_REQUEST for a parameter that the console does not have, and for a page that is too large
 */
export function readListQuery(
  data: DataContext,
  gateway: ResourceGateway,
  { as: _, ...query }: Query,
  defaults: Query = { limit: DEFAULT_LIMIT, count: 'capped' },
): Record<string, unknown> {
  const form = FORM_PARAMETERS.find((name) => Object.hasOwn(query, name));
  if (form !== undefined) throw new ApiError('BAD_REQUEST', `Unknown query parameter "${form}"`);
  assertNothingSecret(data, gateway, query);
  if (Number(query.limit) > MAX_LIMIT)
    throw new ApiError('BAD_REQUEST', `The query parameter "limit" can be at most ${MAX_LIMIT}`);
  return { ...defaults, ...query };
}
