import type { Fields } from '../../../declare/field.ts';
import type { ResourceGateway } from '../../../declare/host.ts';
import type { ReverseRelation } from '../../../declare/relation.ts';
import { ApiError } from '../../../platform/errors.ts';
import type { DataContext } from './context.ts';
import { targetOf } from './field-info.ts';

/** The query string of a route. */
type Query = Readonly<Record<string, unknown>>;

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 100;

/** Parameters of lists that choose the form of records, which the console chooses itself. */
const FORM_PARAMETERS = ['include', 'fields'];
/** Parameters of lists that are not filters. */
const LIST_PARAMETERS: ReadonlySet<string> = new Set(['page', 'limit', 'sort', 'after', 'count', 'q', 'deleted']);

/** The declaration to which the first part of a path leads; undefined if that part is not a relation. */
function followRelation(
  { gateway }: DataContext,
  { declaration }: ResourceGateway,
  part: string,
): ResourceGateway | undefined {
  const fields = declaration.fields as Fields;
  const relations = (declaration.relations ?? {}) as Record<string, ReverseRelation>;
  const spec = Object.hasOwn(fields, part) ? fields[part]!.spec : undefined;
  const target =
    spec === undefined && Object.hasOwn(relations, part) ? relations[part]!.target : spec && targetOf(spec);
  return target === undefined ? undefined : gateway(target);
}

/** Whether a path leads to a write-only field. */
function leadsToWriteOnly(data: DataContext, root: ResourceGateway, path: string): boolean {
  const parts = path.split('.');
  const last = parts.pop()!;
  let holder: ResourceGateway | undefined = root;
  for (const part of parts) holder = holder && followRelation(data, holder, part);
  const fields = (holder?.declaration.fields ?? {}) as Fields;
  return Object.hasOwn(fields, last) && fields[last]!.spec.writeOnly === true;
}

/**
 * Refuses filters and orders that would reveal the values of write-only fields, which only code may use.
 *
 * @throws ApiError BAD_REQUEST
 */
function assertNothingSecret(data: DataContext, root: ResourceGateway, query: Query): void {
  const sorts = typeof query.sort === 'string' ? query.sort.split(',').map((term) => term.replace(/^-/, '')) : [];
  const filters = Object.keys(query).filter((name) => !LIST_PARAMETERS.has(name) && !name.endsWith('[exists]'));
  for (const path of [...sorts, ...filters.map((name) => name.replace(/\[.*$/, ''))]) {
    if (leadsToWriteOnly(data, root, path))
      throw new ApiError('BAD_REQUEST', `"${path}" is write-only: lists can neither compare nor sort its values`);
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
