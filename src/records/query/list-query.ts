import type { SortTerm } from '../schema/compiled.ts';
import type { ListCondition } from './condition.ts';

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
