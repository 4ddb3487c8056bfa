import type { QueryParameters } from '../request/request.ts';

type Value = string | number | boolean | Date;

/** The conditions of a field: a value, which it must equal, a list of values, null for no value, or values by operator. */
export type Condition =
  | Value
  | null
  | undefined
  | readonly (string | number | boolean | Date)[]
  | Readonly<Record<string, Value | null | undefined | readonly Value[]>>;

/** Filters by field, or by path through relations: `{ status: 'open', views: { gte: 10 }, 'author.name': 'Ada' }`. */
export type Where = Readonly<Record<string, Condition>>;

/** What a list selects, besides the page. */
export interface ListSelection {
  where?: Where | undefined;
  /** Finds records that contain the text in a searchable field. */
  q?: string | undefined;
  /** With soft delete: only the deleted records that the caller may restore, or these as well. */
  deleted?: 'only' | 'with' | undefined;
}

/** The parts of records that a response contains. */
export interface RecordSelection {
  /** Relations to expand: `author`, `comments.author`, `commentsCount`. */
  include?: readonly string[] | undefined;
  /** The fields to return. Default: all. The id, and what `include` names, are always returned. */
  fields?: readonly string[] | undefined;
}

/** A query of a list. */
export interface ListQuery extends ListSelection, RecordSelection {
  /** The fields by which records are sorted; a `-` before a name reverses the order. */
  sort?: readonly string[] | string | undefined;
  limit?: number | undefined;
  /** The number of the page, from 1. */
  page?: number | undefined;
  /** Continues after a position: `meta.next` of a page. */
  after?: string | undefined;
  /** How to count the total. Default: as the resource declares it, usually `exact`. */
  count?: 'exact' | 'capped' | 'none' | undefined;
}

/** Names that mean a parameter of a list or aggregate: the filter of a field with such a name needs an operator. */
const PARAMETER_NAMES = new Set(
  'page limit sort include fields after count q deleted group sum avg min max countDistinct timeZone'.split(' '),
);

const isOperators = (condition: Condition): condition is Readonly<Record<string, Value>> =>
  typeof condition === 'object' && condition !== null && !Array.isArray(condition) && !(condition instanceof Date);

/** Encodes filters as parameters: `views[gte]=10`. Null means no value: `due[exists]=false`. */
export function encodeWhere(where: Where = {}): QueryParameters {
  const parameters: Record<string, Value | readonly Value[]> = {};
  const add = (field: string, operator: string, value: Value | null | undefined | readonly Value[]) => {
    if (value === undefined) return;
    if (value === null && (operator === 'eq' || operator === 'ne')) parameters[`${field}[exists]`] = operator === 'ne';
    else if (value === null) throw new TypeError(`The filter "${field}" must not compare with null by "${operator}"`);
    else if (operator === 'eq' && !PARAMETER_NAMES.has(field)) parameters[field] = value;
    else parameters[`${field}[${operator}]`] = value;
  };
  for (const [field, condition] of Object.entries(where)) {
    if (Array.isArray(condition)) add(field, 'in', condition);
    else if (!isOperators(condition)) add(field, 'eq', condition as Value | null | undefined);
    else for (const [operator, value] of Object.entries(condition)) add(field, operator, value);
  }
  return parameters;
}

/** Encodes `include` and `fields`. */
export const encodeSelection = ({ include, fields }: RecordSelection = {}): QueryParameters => ({
  ...(include?.length && { include }),
  ...(fields?.length && { fields }),
});

/** Encodes the query of a list as parameters. */
export function encodeListQuery(query: ListQuery = {}): QueryParameters {
  const { where, q, deleted, sort, limit, page, after, count } = query;
  return { ...encodeWhere(where), q, deleted, sort, limit, page, after, count, ...encodeSelection(query) };
}
