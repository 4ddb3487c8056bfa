import type { FieldSpec } from '../../declare/field.ts';
import type { CountMode, Operator } from '../../declare/service.ts';
import { fieldTypeOf, type Scalar } from '../fields/field-type.ts';
import type { SortTerm } from '../schema/compiled.ts';

/** One comparison of a field. Conditions of a list are joined by AND. */
export interface Comparison {
  field: string;
  op: Operator;
  value: unknown;
  /** Compares values in memory as the column does. Left out: texts by code point, other values by size. */
  order?: (a: Scalar, b: Scalar) => number;
}

/** A comparison of a field with a value in the form in which records hold it. */
export function createComparison(field: string, spec: FieldSpec, op: Operator, value: unknown): Comparison {
  const { order } = fieldTypeOf(spec);
  return order === undefined ? { field, op, value } : { field, op, value, order };
}

/**
 * Narrows down the set of records: comparisons, alternatives, or no records at all. Evaluated in SQL and in memory with the same result.
 */
export type Condition = Comparison | { any: readonly Condition[] } | { every: readonly Condition[] } | { never: true };

/**
 * A case-insensitive substring of a field. Only Postgres evaluates this condition, because Postgres and JavaScript match upper and lower
 * case differently (İ, ẞ, a final sigma).
 */
export interface SubstringCondition {
  field: string;
  contains: string;
}

/**
 * Selects deleted records that a viewer with one of these privileges may restore: records deleted under one of the privileges, or under an
 * unknown one. Only Postgres evaluates this condition.
 */
export interface DeletedUnderCondition {
  deletedUnder: readonly string[];
}

/** A condition of a list. */
export type ListCondition =
  | Condition
  | SubstringCondition
  | DeletedUnderCondition
  | { any: readonly ListCondition[] }
  | { every: readonly ListCondition[] };

/** References to expand, by field; each value holds the references to expand in the target record. */
export interface Includes extends ReadonlyMap<string, Includes> {}

/** A position in a sorted list: the value of each sort term, in the form in which records hold it; null for a missing value. */
export type Position = readonly unknown[];

/**
 * Maximum rows that a fast query may skip: skipping them costs about as much as reading a page. To skip more, the list is read from its
 * nearer end if its length is known.
 */
export const MAX_FAST_OFFSET = 10_000;

/** The order by id: no change of a record moves it within the list. */
export const BY_ID: readonly SortTerm[] = [{ field: 'id', column: 'id', descending: false }];

/** A parsed list request. */
export interface ListQuery {
  conditions: readonly ListCondition[];
  /** A search that examines only the next rows of the list, besides `conditions`; undefined if there is none. */
  windowSearch: ListCondition | undefined;
  /** Ends with the id, so that the order is total. */
  sort: readonly SortTerm[];
  /** Starts at 1. */
  page: number;
  limit: number;
  /** The start of the page: a position, or the record at that position. */
  after: Position | { record: string } | undefined;
  /** How to count the total. `none` after a cursor. */
  count: CountMode;
  /** Whether cursors may carry the values of the sort terms, because every viewer who may use this sort sees them. */
  cursorCarriesValues: boolean;
  /** References to expand, in addition to those that are always expanded. */
  include: Includes;
  /** Fields to return; undefined for all. */
  fields: ReadonlySet<string> | undefined;
  /** Whether to return deleted records, alone or together with the others. */
  deleted: 'only' | 'with' | undefined;
  /** True if the query could read many rows, because of a substring search, a high page number or a sort order without an index. */
  slow: boolean;
}
