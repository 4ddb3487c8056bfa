import type { FieldSpec } from '../declare/field.ts';
import type { SortTerm } from './compiled.ts';

/** Whether a btree takes every value of a field: it has room for some 2,700 bytes. Texts that clients query are bounded. */
function fitsIndex({ kind, encrypted, unique, index, filterable, sortable }: FieldSpec): boolean {
  if (encrypted || ['text', 'password', 'array', 'object', 'json'].includes(kind)) return false;
  const bounded = kind !== 'string' && kind !== 'url';
  return bounded || Boolean(unique || index || filterable || sortable);
}

/** An order with the id as its last term, where it is not there already: no two records are equal in it. */
export function totalOrder(sorted: readonly SortTerm[]): SortTerm[] {
  if (sorted.some((term) => term.field === 'id')) return [...sorted];
  // In the direction of the last term, so that an index on (field, id) serves both ways.
  return [...sorted, { field: 'id', column: 'id', descending: sorted.at(-1)?.descending ?? false }];
}

/**
 * The columns of the index that gives a resource's default order; undefined when an index can't hold them. One that descends
 * all the way is read backwards.
 *
 * @param specOf what is declared of a field; undefined for the record's own
 */
export function defaultOrderIndex(
  sorted: readonly SortTerm[],
  specOf: (field: string) => FieldSpec | undefined,
): SortTerm[] | undefined {
  const specs = sorted.map((term) => specOf(term.field));
  if (!specs.every((spec) => spec === undefined || fitsIndex(spec))) return undefined;
  const terms = totalOrder(sorted);
  return terms.every((term) => term.descending) ? terms.map((term) => ({ ...term, descending: false })) : terms;
}
