import type { CompiledResource } from '../schema/compiled.ts';
import { addIdTieBreaker } from '../schema/indexes.ts';
import { parseCodeFilter } from './code-filter.ts';
import { parseCursor } from './cursor.ts';
import { isFilterable, parseFilter, parseSearch, type QueryViewer } from './filter.ts';
import { parseInclude, type ResourceOf } from './include.ts';
import type { Includes, ListQuery } from './list-query.ts';
import {
  assertGivenOnce,
  joinNames,
  parsePositiveInteger,
  queryError,
  requireSingleText,
  shortenForMessage,
} from './parameter.ts';
import { canCursorCarryValues, parseSort } from './sort.ts';

/** A query string: flat; a repeated parameter is an array. */
export type RawQuery = Record<string, unknown>;

interface Limits {
  defaultLimit: number;
  maxLimit: number;
}

/** The highest `page`. */
export const MAX_PAGES = 1_000_000_000;
// Maximum rows that a fast query may skip: skipping them costs about as much as reading a page.
const MAX_FAST_OFFSET = 10_000;

/** The field names that the query parameter `fields` may contain. */
export function selectableFields(resource: CompiledResource): string[] {
  const own = ['id', ...(resource.timestamps ? ['createdAt', 'updatedAt'] : [])];
  const fields = resource.fields.filter((field) => !field.secret).map((field) => field.name);
  return [...own, ...(resource.softDelete ? ['deletedAt'] : []), ...fields];
}

function parseFieldsParameter(resource: CompiledResource, text: string): Set<string> {
  const allowed = selectableFields(resource);
  const wanted = text.split(',');
  for (const name of wanted) {
    if (!allowed.includes(name))
      throw queryError(
        `Cannot select the field "${shortenForMessage(name)}"; selectable fields: ${joinNames(allowed)}`,
      );
  }
  return new Set(['id', ...wanted]);
}

/** Parses `include` and `fields`, which choose the parts of records to return. An included reference is also selected. */
function parseSelection(
  resource: CompiledResource,
  { include, fields }: { include?: string | undefined; fields?: string | undefined },
  resourceOf: ResourceOf,
): Pick<ListQuery, 'include' | 'fields'> {
  const included: Includes = include === undefined ? new Map() : parseInclude(resource, include, resourceOf);
  const selected = fields === undefined ? undefined : parseFieldsParameter(resource, fields);
  return { include: included, fields: selected && new Set([...selected, ...included.keys()]) };
}

/**
 * Parses the parameters for reading one record: `include` and `fields`.
 *
 * @throws ApiError BAD_REQUEST naming the parameter and its allowed values
 */
export function parseReadQuery(
  resource: CompiledResource,
  query: RawQuery,
  resourceOf: ResourceOf,
): Pick<ListQuery, 'include' | 'fields'> {
  const shape: { include?: string; fields?: string } = {};
  for (const [name, value] of Object.entries(query)) {
    if (name === 'include' || name === 'fields') shape[name] = requireSingleText(name, value);
    else throw queryError(`Unknown query parameter "${shortenForMessage(name)}"; allowed here: include, fields`);
  }
  return parseSelection(resource, shape, resourceOf);
}

const LIST_PARAMETERS = ['page', 'limit', 'sort', 'include', 'fields', 'after', 'count', 'q', 'deleted'] as const;

const LIST_PARAMETER_NAMES: ReadonlySet<string> = new Set(LIST_PARAMETERS);

/** The parameters of a list that are not filters, as texts. */
type ListParameters = Partial<Record<(typeof LIST_PARAMETERS)[number], string>>;

/** Parses the parameters that choose the page of a list, and whether to count the total. */
function parsePaging(
  { page, limit, after, count }: ListParameters,
  limits: Limits,
): Pick<ListQuery, 'page' | 'limit' | 'counted'> {
  if (after !== undefined && page !== undefined)
    throw queryError('The query parameters "after" and "page" cannot be combined');
  if (count !== undefined && count !== 'none') throw queryError('The query parameter "count" can only be "none"');
  const defaultSize = Math.min(limits.defaultLimit, limits.maxLimit);
  return {
    page: page === undefined ? 1 : parsePositiveInteger('page', page, MAX_PAGES),
    limit: limit === undefined ? defaultSize : parsePositiveInteger('limit', limit, limits.maxLimit),
    counted: after === undefined && count === undefined,
  };
}

/** Parses `deleted`: whether a list returns deleted records, alone or together with the others. */
function parseDeleted(deleted: string | undefined): ListQuery['deleted'] {
  if (deleted === undefined || deleted === 'only' || deleted === 'with') return deleted;
  throw queryError('The query parameter "deleted" can only be "only" or "with"');
}

interface Options {
  limits: Limits;
  resourceOf: ResourceOf;
  /** Whether code passes the query, with typed values, rather than a client with texts. */
  byCode: boolean;
}

/** Whether the parameter `count` is a filter: if a field has this name and the caller may filter by it, the parameter means the field. */
function isCountFilter(resource: CompiledResource, value: unknown, viewer: QueryViewer): boolean {
  if (isFilterable(resource, 'count')) return true;
  return viewer === 'system' && resource.field.has('count') && value !== 'none';
}

/** Whether the name of a list parameter means a filter instead. */
function isFilterName(resource: CompiledResource, name: string, value: unknown, viewer: QueryViewer): boolean {
  if (name === 'deleted') return !resource.softDelete;
  return name === 'count' && isCountFilter(resource, value, viewer);
}

/** Whether no index serves any of the filters. Only filters with system privilege, which may use every field, can lack an index. */
function lacksIndexForFilters(resource: CompiledResource, filters: readonly (readonly [string, unknown])[]): boolean {
  const indexed = resource.indexes
    .filter(({ method }) => method === 'btree' || method === 'hash' || method === 'gin')
    .map((index) => index.terms[0]!.field);
  const fields = filters.map(([parameter]) => parameter.split('[', 1)[0]!);
  return fields.length > 0 && !fields.some((field) => field === 'id' || indexed.includes(field));
}

/**
 * Parses a list query. Strict: anything that the declaration does not allow is refused.
 *
 * @throws ApiError BAD_REQUEST naming the parameter and its allowed values; TypeError for a filter of code that is undefined
 */
export function parseListQuery(
  resource: CompiledResource,
  query: RawQuery,
  viewer: QueryViewer,
  { limits, resourceOf, byCode }: Options,
): ListQuery {
  const parameters: ListParameters = {};
  const filters: [string, unknown][] = [];
  for (const [name, value] of Object.entries(query)) {
    if (!LIST_PARAMETER_NAMES.has(name) || isFilterName(resource, name, value, viewer)) filters.push([name, value]);
    else if (value !== undefined)
      parameters[name as keyof ListParameters] = requireSingleText(name, byCode ? String(value) : value);
  }
  assertGivenOnce(filters.map(([name]) => name));
  const conditions = [
    ...filters.flatMap(([name, value]) =>
      byCode
        ? parseCodeFilter(resource, name, value, viewer)
        : parseFilter(resource, name, requireSingleText(name, value), viewer),
    ),
    ...(parameters.q === undefined ? [] : parseSearch(resource, parameters.q, viewer)),
  ];
  const sort = addIdTieBreaker(
    parameters.sort === undefined ? resource.defaultSort : parseSort(resource, parameters.sort, viewer),
  );
  const order = { sort, cursorCarriesValues: canCursorCarryValues(resource, sort, viewer) };
  const paging = parsePaging(parameters, limits);
  const isFarDown = (paging.page - 1) * paging.limit > MAX_FAST_OFFSET;
  const isScan = viewer === 'system' && lacksIndexForFilters(resource, filters);
  const deleted = parseDeleted(parameters.deleted);
  return {
    ...order,
    ...paging,
    ...parseSelection(resource, parameters, resourceOf),
    conditions,
    after: parameters.after === undefined ? undefined : parseCursor(resource, order, parameters.after),
    deleted,
    slow:
      (parameters.q ?? '') !== '' ||
      isFarDown ||
      isScan ||
      deleted !== undefined ||
      !resource.indexedSorts.has(sort[0]!.field),
  };
}
