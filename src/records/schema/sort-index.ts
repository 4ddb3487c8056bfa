import type { FieldSpec } from '../../declare/field.ts';
import { fieldTypeOf } from '../fields/field-type.ts';
import { MAX_INDEXED_BYTES } from '../fields/text-rules.ts';
import type { SortTerm } from './compiled.ts';

/** Bytes that a value of a field takes at most in an index; undefined when one may not fit. The record's own fields are short. */
function indexedBytes(spec: FieldSpec | undefined): number | undefined {
  if (spec === undefined) return 0;
  return spec.encrypted ? undefined : fieldTypeOf(spec).indexedBytes?.(spec);
}

/** An order with the id as its last term, where it is not there already: no two records are equal in it. */
export function totalOrder(sorted: readonly SortTerm[]): SortTerm[] {
  if (sorted.some((term) => term.field === 'id')) return [...sorted];
  // In the direction of the last term, so that an index on (field, id) serves both ways.
  return [...sorted, { field: 'id', column: 'id', descending: sorted.at(-1)?.descending ?? false }];
}

/**
 * The columns of the index that gives a resource's default order; undefined when an index cannot hold them. One that descends
 * all the way is read backwards.
 *
 * @param specOf what is declared of a field; undefined for the record's own
 */
export function defaultOrderIndex(
  sorted: readonly SortTerm[],
  specOf: (field: string) => FieldSpec | undefined,
): SortTerm[] | undefined {
  const specs = sorted.map((term) => specOf(term.field));
  const bytes = specs.map(indexedBytes);
  if (bytes.some((one) => one === undefined)) return undefined;
  if (bytes.reduce<number>((sum, one) => sum + one!, 0) > MAX_INDEXED_BYTES) return undefined;
  const terms = totalOrder(sorted);
  return terms.every((term) => term.descending) ? terms.map((term) => ({ ...term, descending: false })) : terms;
}
