import type { SortTerm } from '../compiled.ts';
import type { Condition } from './condition.ts';

/** A list request taken apart. */
export interface ListQuery {
  conditions: readonly Condition[];
  /** Ends with the id, so that the order is total. */
  sort: readonly SortTerm[];
  page: number;
  limit: number;
  /** References to expand. */
  include: readonly string[];
  /** Fields to return; undefined for all. */
  fields: ReadonlySet<string> | undefined;
  /** Whether it may scan: a substring search. */
  slow: boolean;
}
