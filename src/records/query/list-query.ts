import type { FieldSpec } from '../../declare/field.ts';
import type { CountMode, Operator } from '../../declare/service.ts';
import { fieldTypeOf, type Scalar } from '../fields/field-type.ts';
import { findStoredForms } from '../fields/text-rules.ts';
import type { CompiledResource, Relation, SortTerm } from '../schema/compiled.ts';
import type { Join } from '../schema/relations.ts';

/** One comparison of a field. Conditions of a list are joined by AND. */
export interface Comparison {
  field: string;
  op: Operator;
  value: unknown;
  /** Compares values in memory as the column does. Left out: texts by code point, other values by size. */
  order?: (a: Scalar, b: Scalar) => number;
}

/** The comparison with a list that is the same as a comparison with each of its values. */
const LIST_FORMS: Partial<Record<Operator, Operator>> = { eq: 'in', in: 'in', ne: 'nin', nin: 'nin' };

/** A comparison of a field with a value, as records hold it. */
export function createComparison(field: string, spec: FieldSpec, op: Operator, value: unknown): Comparison {
  const { order } = fieldTypeOf(spec);
  if (spec.type.kind === 'text' && LIST_FORMS[op] !== undefined) {
    const forms = [value].flat().flatMap((one) => findStoredForms(one as string, spec));
    if (forms.length > 1) return { field, op: LIST_FORMS[op], value: forms };
  }
  return order === undefined ? { field, op, value } : { field, op, value, order };
}

/**
 * The condition that at least one related record, or none, meets all of some conditions. Related are the records that a relation leads to, or
 * the results of a query.
 */
export class RelatedCondition {
  /** The resource of the related records. */
  readonly target: CompiledResource;
  readonly join: Join;
  readonly some: readonly Condition[];
  /** Whether no related record may meet the conditions. */
  readonly none: boolean;
  /**
   * The relation that a client's filter follows to the related records. Undefined if code wrote the filter, or once `some` contains the
   * conditions that the viewer may see the related records. The condition is never evaluated before.
   */
  readonly unchecked: Relation | undefined;

  constructor(
    target: CompiledResource,
    join: Join,
    some: readonly Condition[],
    { none = false, unchecked }: { none?: boolean; unchecked?: Relation | undefined } = {},
  ) {
    this.target = target;
    this.join = join;
    this.some = some;
    this.none = none;
    this.unchecked = unchecked;
  }

  /** Conditions are compared by their JSON, to share what they select. */
  toJSON(): unknown {
    const { from, to, match } = this.join;
    return { related: this.target.name, join: [from, to, match], some: this.some, none: this.none };
  }
}

/**
 * Narrows down the set of records: comparisons, alternatives, conditions on related records, or no records at all. Evaluated in SQL and in
 * memory with the same result.
 */
export type Condition =
  | Comparison
  | { any: readonly Condition[] }
  | { every: readonly Condition[] }
  | { never: true }
  | RelatedCondition;

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

/** A reference that a sort follows. */
export interface RelatedStep {
  relation: Relation;
  target: CompiledResource;
  /** The conditions that the viewer may see the record. A hidden record sorts like a missing one. */
  visible: readonly Condition[];
}

/** One term of the order of a list. */
export interface ListSortTerm extends SortTerm {
  /**
   * For a field of a referenced record, such as `ticket.priority`: the references on the way. Their `visible` is complete if `isChecked`.
   * `column` is the column of the last record.
   */
  related?: { steps: readonly RelatedStep[]; isChecked: boolean };
}

/** Whether a list is sorted by fields of referenced records. Then no index serves its order. */
export function sortsByRelated(sort: readonly ListSortTerm[]): boolean {
  return sort.some(({ related }) => related !== undefined);
}

/**
 * A position in a sorted list: the value of each sort term as records hold it, null for a missing value. The values of referenced records
 * are texts, as Postgres writes them.
 */
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
  /** Ends with the id: the order is total. */
  sort: readonly ListSortTerm[];
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
