import type { CountMode } from '../../declare/service.ts';
import { isServedByTrigrams } from '../fields/index-expressions.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { addIdTieBreaker } from '../schema/indexes.ts';
import { parseCursor } from './cursor.ts';
import { isFilterable, parseSearch, type QueryViewer } from './filter.ts';
import { type GetResource, parseInclude } from './include.ts';
import { type Includes, type ListQuery, MAX_FAST_OFFSET } from './list-query.ts';
import {
  assertGivenOnce,
  joinNames,
  parsePositiveInteger,
  queryError,
  requireSingleText,
  shortenForMessage,
} from './parameter.ts';
import { parseFilters } from './parse-filters.ts';
import { canCursorCarryValues, parseSort } from './sort.ts';

/** A query string: flat; a repeated parameter is an array. */
export type RawQuery = Record<string, unknown>;

interface Limits {
  defaultLimit: number;
  maxLimit: number;
  /** Default `exact`. */
  count?: CountMode;
}

/** The highest `page`. */
export const MAX_PAGES = 1_000_000_000;

/** The values of `count`. */
export const COUNT_MODES: readonly CountMode[] = ['exact', 'capped', 'none'];

function isCountMode(value: unknown): value is CountMode {
  return COUNT_MODES.includes(value as CountMode);
}

/** How lists of a resource count if the request does not say. */
export function defaultCountMode(
  { declaration }: CompiledResource,
  { count = 'exact' }: Pick<Limits, 'count'>,
): CountMode {
  return declaration.pagination?.count ?? count;
}

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
  getResource: GetResource,
): Pick<ListQuery, 'include' | 'fields'> {
  const included: Includes = include === undefined ? new Map() : parseInclude(resource, include, getResource);
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
  getResource: GetResource,
): Pick<ListQuery, 'include' | 'fields'> {
  const shape: { include?: string; fields?: string } = {};
  for (const [name, value] of Object.entries(query)) {
    if (name === 'include' || name === 'fields') shape[name] = requireSingleText(name, value);
    else throw queryError(`Unknown query parameter "${shortenForMessage(name)}"; allowed here: include, fields`);
  }
  return parseSelection(resource, shape, getResource);
}

const LIST_PARAMETERS = ['page', 'limit', 'sort', 'include', 'fields', 'after', 'count', 'q', 'deleted'] as const;

const LIST_PARAMETER_NAMES: ReadonlySet<string> = new Set(LIST_PARAMETERS);

/** The parameters of a list that are not filters, as texts. */
type ListParameters = Partial<Record<(typeof LIST_PARAMETERS)[number], string>>;

/** Parses the parameters that choose the page of a list, and how to count the total. */
function parsePaging(
  { page, limit, after, count }: ListParameters,
  limits: Limits,
  defaultCount: CountMode,
): Pick<ListQuery, 'page' | 'limit'> & { requestedCount: CountMode } {
  if (after !== undefined && page !== undefined)
    throw queryError('The query parameters "after" and "page" cannot be combined');
  if (count !== undefined && !isCountMode(count))
    throw queryError('The query parameter "count" can only be "exact", "capped" or "none"');
  const defaultSize = Math.min(limits.defaultLimit, limits.maxLimit);
  return {
    page: page === undefined ? 1 : parsePositiveInteger('page', page, MAX_PAGES),
    limit: limit === undefined ? defaultSize : parsePositiveInteger('limit', limit, limits.maxLimit),
    requestedCount: count ?? defaultCount,
  };
}

/** Parses `deleted`: whether a list returns deleted records, alone or together with the others. */
function parseDeleted(deleted: string | undefined): ListQuery['deleted'] {
  if (deleted === undefined || deleted === 'only' || deleted === 'with') return deleted;
  throw queryError('The query parameter "deleted" can only be "only" or "with"');
}

interface ParseOptions {
  limits: Limits;
  getResource: GetResource;
  /** Whether code passes the query, with typed values, rather than a client with texts. */
  byCode: boolean;
}

/** Whether the parameter `count` is a filter: if a field has this name and the caller may filter by it, the parameter means the field. */
function isCountFilter(resource: CompiledResource, value: unknown, viewer: QueryViewer): boolean {
  if (isFilterable(resource, 'count')) return true;
  return viewer === 'system' && resource.field.has('count') && !isCountMode(value);
}

/** Whether the name of a list parameter means a filter instead. */
function isFilterName(resource: CompiledResource, name: string, value: unknown, viewer: QueryViewer): boolean {
  if (name === 'deleted') return !resource.softDelete;
  return name === 'count' && isCountFilter(resource, value, viewer);
}

/** Whether a parameter of a list is a filter. */
export function isFilter(resource: CompiledResource, name: string, value: unknown, viewer: QueryViewer): boolean {
  return !LIST_PARAMETER_NAMES.has(name) || isFilterName(resource, name, value, viewer);
}

/** Whether no index serves any of the filters. Only filters with system privilege, which may use every field, can lack an index. */
function lacksIndexForFilters(resource: CompiledResource, filters: readonly (readonly [string, unknown])[]): boolean {
  const indexed = resource.indexes
    .filter(({ method }) => method === 'btree' || method === 'hash' || method === 'gin')
    .map((index) => index.terms[0]!.field);
  const fields = filters.map(([parameter]) => parameter.split(/[[.]/, 1)[0]!);
  const isIndexed = (field: string) =>
    field === 'id' || indexed.includes(field) || resource.relations.get(field)?.kind === 'reverse';
  return fields.length > 0 && !fields.some(isIndexed);
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
  { limits, getResource, byCode }: ParseOptions,
): ListQuery {
  const parameters: ListParameters = {};
  const filters: [string, unknown][] = [];
  for (const [name, value] of Object.entries(query)) {
    if (isFilter(resource, name, value, viewer)) filters.push([name, value]);
    else if (value !== undefined)
      parameters[name as keyof ListParameters] = requireSingleText(name, byCode ? String(value) : value);
  }
  assertGivenOnce(filters.map(([name]) => name));
  const conditions = parseFilters(resource, filters, viewer, byCode);
  const sort = addIdTieBreaker(
    parameters.sort === undefined ? resource.defaultSort : parseSort(resource, parameters.sort, viewer),
  );
  const order = { sort, cursorCarriesValues: canCursorCarryValues(resource, sort, viewer) };
  const defaultCount = byCode ? 'exact' : defaultCountMode(resource, limits);
  const { requestedCount, ...paging } = parsePaging(parameters, limits, defaultCount);
  const { q = '' } = parameters;
  const search = parameters.q === undefined ? undefined : parseSearch(resource, q, viewer);
  const isWindowed = !byCode && search !== undefined && requestedCount !== 'exact' && !isServedByTrigrams(q);
  const isFarDown = (paging.page - 1) * paging.limit > MAX_FAST_OFFSET;
  const isScan = viewer === 'system' && lacksIndexForFilters(resource, filters);
  const deleted = parseDeleted(parameters.deleted);
  return {
    ...order,
    ...paging,
    ...parseSelection(resource, parameters, getResource),
    count: parameters.after === undefined ? requestedCount : 'none',
    conditions: search === undefined || isWindowed ? conditions : [...conditions, search],
    windowSearch: isWindowed ? search : undefined,
    after: parameters.after === undefined ? undefined : parseCursor(resource, order, parameters.after),
    deleted,
    slow: q !== '' || isFarDown || isScan || deleted !== undefined || !resource.indexedSorts.has(sort[0]!.field),
  };
}
