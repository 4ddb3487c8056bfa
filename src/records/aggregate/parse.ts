import { AGGREGATE_FUNCTIONS, type AggregateFunction, DATE_UNITS, type DateUnit } from '../../declare/aggregate.ts';
import type { ApiError } from '../../platform/helpers/errors.ts';
import type { QueryViewer } from '../query/filter.ts';
import {
  joinNames,
  parsePositiveInteger,
  queryError,
  requireSingleText,
  shortenForMessage,
} from '../query/parameter.ts';
import type { RawQuery } from '../query/parse.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { type AggregatableField, canAggregate, computeMinGroupSize, listAggregatableFields } from './fields.ts';

/** Maximum terms of `group`. */
export const MAX_GROUP_TERMS = 3;
/** Maximum aggregates in one query, `count` included. */
export const MAX_AGGREGATES = 10;
/** Maximum groups in one response. */
export const MAX_GROUPS = 1000;
/** Groups in a response if the query does not say. */
export const DEFAULT_GROUPS = 100;
/** The time zone of date buckets if the query does not say. */
export const DEFAULT_TIME_ZONE = 'UTC';

/** A term of `group`. */
export interface GroupTerm {
  /** As the client wrote it, and as the response names it: `status`, `month(createdAt)`. */
  key: string;
  field: AggregatableField;
  /** Undefined for a field whose values are the groups. */
  unit: DateUnit | undefined;
}

/** An aggregate of a field. */
export interface FunctionTerm {
  /** The name that `sort` uses: `sum(hours)`. */
  key: string;
  fn: AggregateFunction;
  field: AggregatableField;
}

/** A term of the order of groups. `key` is the key of a group term, the key of a function term, or `count`. */
interface GroupSortTerm {
  key: string;
  descending: boolean;
}

/** A parsed query of aggregates, apart from the records that it selects. */
export interface ParsedAggregates {
  groups: readonly GroupTerm[];
  count: boolean;
  functions: readonly FunctionTerm[];
  /** Contains all terms of `groups`: the order is total. */
  sort: readonly GroupSortTerm[];
  limit: number;
  timeZone: string;
  minGroupSize: number;
}

const AGGREGATE_PARAMETERS = ['group', 'count', ...AGGREGATE_FUNCTIONS, 'sort', 'limit', 'timeZone'] as const;
/** The parameters of aggregates that a query contains, as texts. */
type AggregateTexts = Partial<Record<(typeof AGGREGATE_PARAMETERS)[number], string>>;

const AGGREGATE_PARAMETER_NAMES: ReadonlySet<string> = new Set(AGGREGATE_PARAMETERS);
/** The parameters of lists that have no meaning for aggregates. */
const PAGE_PARAMETERS: ReadonlySet<string> = new Set(['page', 'after', 'include', 'fields']);
const UNITS: ReadonlySet<string> = new Set(DATE_UNITS);
const BUCKET = /^(\w+)\((\w+)\)$/;

/** Whether a query parameter belongs to aggregates, even if a field has the same name: its filter is `count[eq]`. */
export function isAggregateParameter(name: string): boolean {
  return AGGREGATE_PARAMETER_NAMES.has(name);
}

/** Whether a parameter of lists cannot be used with aggregates. */
export function isPageParameter(name: string): boolean {
  return PAGE_PARAMETERS.has(name);
}

/** A query of aggregates: its own parameters, not yet checked, and those that select records, as in a list. */
export interface SplitQuery {
  parameters: RawQuery;
  selection: RawQuery;
}

/** Splits the query string of a client. Checks nothing, because a caller that the list policy refuses must get that error first. */
export function splitAggregateQuery(query: RawQuery): SplitQuery {
  const split: SplitQuery = { parameters: {}, selection: {} };
  for (const [name, value] of Object.entries(query)) {
    const isSelection = !isAggregateParameter(name) && !isPageParameter(name);
    split[isSelection ? 'selection' : 'parameters'][name] = value;
  }
  return split;
}

function requireTexts(parameters: RawQuery): AggregateTexts {
  const texts: AggregateTexts = {};
  for (const [name, value] of Object.entries(parameters)) {
    if (isPageParameter(name)) throw queryError(`The query parameter "${name}" is only for lists`);
    texts[name as keyof AggregateTexts] = requireSingleText(name, value);
  }
  return texts;
}

/** The terms of a comma-separated parameter. */
function splitTerms(name: string, text: string, most: number): string[] {
  const terms = text.split(',', most + 1);
  if (terms.includes('')) throw queryError(`The query parameter "${name}" needs field names, joined by commas`);
  if (terms.length > most) throw queryError(`The query parameter "${name}" takes at most ${most} fields`);
  const repeated = terms.find((term, i) => terms.indexOf(term) < i);
  if (repeated !== undefined)
    throw queryError(`The query parameter "${name}" names "${shortenForMessage(repeated)}" twice`);
  return terms;
}

type AggregatableFields = ReadonlyMap<string, AggregatableField>;

function parseGroupTerm(key: string, fields: AggregatableFields): GroupTerm {
  const [, unit, bucketed] = BUCKET.exec(key) ?? [];
  const field = fields.get(bucketed ?? key);
  const isBucket = field?.aggregations.group === 'bucket';
  if (field !== undefined && isBucket && bucketed === undefined)
    throw queryError(
      `Cannot group by the date "${key}" itself; group by one of: ${DATE_UNITS.join(', ')}, as in month(${key})`,
    );
  if (unit !== undefined && isBucket && !UNITS.has(unit))
    throw queryError(`Cannot group dates by "${shortenForMessage(unit)}"; units: ${DATE_UNITS.join(', ')}`);
  if (field === undefined || isBucket !== (unit !== undefined)) {
    const known = [...fields.values()].map(({ name, aggregations }) =>
      aggregations.group === 'bucket' ? `month(${name})` : name,
    );
    throw queryError(`Cannot group by "${shortenForMessage(key)}"; groups: ${joinNames(known)}`);
  }
  return { key, field, unit: unit as DateUnit | undefined };
}

function parseFunctionTerms(
  fn: AggregateFunction,
  text: string,
  fields: AggregatableFields,
  minGroupSize: number,
): FunctionTerm[] {
  return splitTerms(fn, text, MAX_AGGREGATES).map((name) => {
    const field = fields.get(name);
    if (field !== undefined && canAggregate(field, fn, minGroupSize)) return { key: `${fn}(${name})`, fn, field };
    const known = [...fields.values()].filter((one) => canAggregate(one, fn, minGroupSize)).map((one) => one.name);
    throw queryError(`Cannot compute "${fn}" of "${shortenForMessage(name)}"; fields: ${joinNames(known)}`);
  });
}

function parseCount(text: string | undefined): boolean {
  if (text === undefined) return false;
  if (text === '' || text === 'true') return true;
  throw queryError('The query parameter "count" takes no value: it adds the number of records to each group');
}

function parseGroupSort(
  text: string | undefined,
  groups: readonly GroupTerm[],
  aggregates: readonly string[],
): GroupSortTerm[] {
  const keys = groups.map(({ key }) => key);
  const allowed = [...keys, ...aggregates];
  const terms = text === undefined ? [] : splitTerms('sort', text, MAX_GROUP_TERMS + MAX_AGGREGATES);
  const sort = terms.map((term): GroupSortTerm => {
    const key = term.replace(/^-/, '');
    if (!allowed.includes(key))
      throw queryError(`Cannot sort groups by "${shortenForMessage(key)}"; requested here: ${joinNames(allowed)}`);
    return { key, descending: term.startsWith('-') };
  });
  if (new Set(sort.map(({ key }) => key)).size < sort.length)
    throw queryError('The query parameter "sort" names a term twice');
  const others = keys.filter((key) => !sort.some((term) => term.key === key));
  return [...sort, ...others.map((key) => ({ key, descending: false }))];
}

/**
 * Whether a time zone exists. Only `UTC` and names with a slash are accepted: Postgres reads other names (`CET`, `+02:00`) differently than
 * the IANA database.
 */
function isTimeZone(text: string): boolean {
  if (text === DEFAULT_TIME_ZONE) return true;
  if (!/^[A-Za-z_]+(\/[A-Za-z0-9_+-]+){1,2}$/.test(text)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

/** The error for a time zone that does not exist. */
export function timeZoneError(): ApiError {
  return queryError('The query parameter "timeZone" must be an IANA time zone, such as Europe/Berlin, or UTC');
}

/**
 * Parses the parameters of aggregates. Strict: anything that the declaration does not allow is refused.
 *
 * @throws ApiError BAD_REQUEST naming the parameter and its allowed values
 */
export function parseAggregates(
  resource: CompiledResource,
  parameters: RawQuery,
  viewer: QueryViewer,
): ParsedAggregates {
  const texts = requireTexts(parameters);
  const fields = listAggregatableFields(resource, viewer);
  const minGroupSize = computeMinGroupSize(resource, viewer);
  const groups =
    texts.group === undefined
      ? []
      : splitTerms('group', texts.group, MAX_GROUP_TERMS).map((key) => parseGroupTerm(key, fields));
  const functions = AGGREGATE_FUNCTIONS.flatMap((fn) => {
    const text = texts[fn];
    return text === undefined ? [] : parseFunctionTerms(fn, text, fields, minGroupSize);
  });
  const count = parseCount(texts.count) || functions.length === 0;
  const { timeZone = DEFAULT_TIME_ZONE } = texts;
  if (!isTimeZone(timeZone)) throw timeZoneError();
  if (functions.length + Number(count) > MAX_AGGREGATES)
    throw queryError(`A query takes at most ${MAX_AGGREGATES} aggregates`);
  return {
    groups,
    count,
    functions,
    sort: parseGroupSort(texts.sort, groups, [...(count ? ['count'] : []), ...functions.map(({ key }) => key)]),
    limit: texts.limit === undefined ? DEFAULT_GROUPS : parsePositiveInteger('limit', texts.limit, MAX_GROUPS),
    timeZone,
    minGroupSize,
  };
}
