import type { FieldSpec, Operator } from '../../declare/field.ts';
import { fieldTypeOf, type Scalar } from '../fields/field-type.ts';
import type { SortTerm } from '../schema/compiled.ts';

/** One comparison of a field. Conditions of a list are joined by AND. */
export interface Comparison {
  field: string;
  op: Operator;
  value: unknown;
  /** Compares values in memory as the column does. Left out: texts by code point, others by size. */
  order?: (a: Scalar, b: Scalar) => number;
}

/** A comparison of a field with a value in the form in which records hold it. */
export function compareField(field: string, spec: FieldSpec, op: Operator, value: unknown): Comparison {
  const { order } = fieldTypeOf(spec);
  return order === undefined ? { field, op, value } : { field, op, value, order };
}

/** Narrows down which records there are: comparisons, alternatives, or nothing at all. Asked in SQL and in memory alike. */
export type Condition = Comparison | { any: readonly Condition[] } | { every: readonly Condition[] } | { never: true };

/**
 * A case-insensitive substring of a field. Only Postgres answers it: what is the same letter in upper and lower case (İ, ẞ, a
 * final sigma) is not the same there and in JavaScript.
 */
export interface Search {
  field: string;
  contains: string;
}

/**
 * Deleted records that one of these privileges may restore: they were deleted under one of them, or the privilege is unknown. Only
 * Postgres evaluates this condition.
 */
export interface DeletedUnder {
  deletedUnder: readonly string[];
}

/** A condition of a list. */
export type ListCondition =
  | Condition
  | Search
  | DeletedUnder
  | { any: readonly ListCondition[] }
  | { every: readonly ListCondition[] };

/** References to expand, by field; below each, those of the record that it names. */
export interface Includes extends ReadonlyMap<string, Includes> {}

/** A place in a sorted list: for each sort term the value there, as records hold it; null where the field has none. */
export type Position = readonly unknown[];

/** A list request taken apart. */
export interface ListQuery {
  conditions: readonly ListCondition[];
  /** Ends with the id, so that the order is total. */
  sort: readonly SortTerm[];
  /** From 1. */
  page: number;
  limit: number;
  /** Where the list goes on: a place, or the record that stands there. */
  after: Position | { record: string } | undefined;
  /** Whether the total is asked for. */
  counted: boolean;
  /** Whether cursors may carry the values of the sort terms: everybody who may use this sort sees them. */
  open: boolean;
  /** References to expand, besides those that always are. */
  include: Includes;
  /** Fields to return; undefined for all. */
  fields: ReadonlySet<string> | undefined;
  /** Whether deleted records are meant, alone or with the others. */
  deleted: 'only' | 'with' | undefined;
  /** Whether it may scan: a substring search, a page far down, an order without an index. */
  slow: boolean;
}
