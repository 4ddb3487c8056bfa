import type { FieldSpec } from '../../declare/field.ts';
import { fieldTypeOf } from '../fields/field-type.ts';
import { MAX_INDEXED_BYTES } from '../fields/text-rules.ts';
import type { SortTerm } from './compiled.ts';

/** Maximum bytes of a field's value in an index; undefined if a value may not fit. The record's own fields are short. */
function indexedBytes(spec: FieldSpec | undefined): number | undefined {
  if (spec === undefined) return 0;
  return spec.encrypted ? undefined : fieldTypeOf(spec).indexedBytes?.(spec);
}

/** The order with the id as its last term, unless it contains the id already: no two records are equal in it. */
export function totalOrder(sorted: readonly SortTerm[]): SortTerm[] {
  if (sorted.some((term) => term.field === 'id')) return [...sorted];
  // The id has the direction of the last term, so that an index on (field, id) serves both directions.
  return [...sorted, { field: 'id', column: 'id', descending: sorted.at(-1)?.descending ?? false }];
}

/**
 * The columns of the index that serves a resource's default order; undefined if an index cannot hold them. If all terms descend, the index
 * is ascending and read backwards.
 *
 * @param specOf returns the declaration of a field; undefined for the record's own fields
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
