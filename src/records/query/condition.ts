import type { Operator } from '../../declare/field.ts';

/** One comparison of a field. Conditions of a list are joined by AND. */
export interface Comparison {
  field: string;
  op: Operator;
  value: unknown;
}

/** What narrows down which records a statement sees: comparisons, alternatives, or nothing at all. */
export type Condition =
  | Comparison
  | { any: readonly Condition[] }
  | { every: readonly Condition[] }
  | { never: true }
  | Search;

/** A case-insensitive substring of a field. */
export interface Search {
  field: string;
  contains: string;
}
