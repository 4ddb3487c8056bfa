import { type CompiledField, type CompiledResource, columnOf, type SortTerm } from '../schema/compiled.ts';
import { type QueryViewer, visibilityCondition } from './filter.ts';
import { badQuery, echo, names } from './parameter.ts';

/** Fields in one `sort`. */
export const MAX_TERMS = 8;

function ownFields(resource: CompiledResource): string[] {
  return resource.timestamps ? ['createdAt', 'updatedAt'] : [];
}

/** Whether a field holds single values that can be compared. */
function isScalar({ spec, type }: CompiledField): boolean {
  return type.comparable !== undefined && spec.inner === undefined && !spec.encrypted;
}

/** The fields by which some client or other may sort. */
export function declaredSorts(resource: CompiledResource): string[] {
  const declared = resource.fields.filter((field) => field.spec.sortable && !field.secret);
  return [...declared.map((field) => field.name), ...ownFields(resource)];
}

/** The fields by which this viewer may sort. The system sorts by whatever has an order. */
function sortable(resource: CompiledResource, viewer: QueryViewer): string[] {
  if (viewer === 'system') {
    return [...resource.fields.filter(isScalar).map((field) => field.name), 'id', ...ownFields(resource)];
  }
  return declaredSorts(resource).filter((name) => {
    const field = resource.field.get(name);
    return field === undefined || visibilityCondition(resource, field, viewer) === undefined;
  });
}

/** `sort` as terms. By a field that is not visible to everybody sorts only who sees it on every record. */
export function parseSort(resource: CompiledResource, text: string, viewer: QueryViewer): SortTerm[] {
  const allowed = sortable(resource, viewer);
  const terms = text.split(',').map((term) => {
    const field = term.replace(/^-/, '');
    if (!allowed.includes(field)) {
      throw badQuery(`Cannot sort by "${echo(field)}"; sortable fields: ${names(allowed)}`);
    }
    return { field, column: columnOf(resource, field), descending: term.startsWith('-') };
  });
  if (new Set(terms.map((term) => term.field)).size < terms.length)
    throw badQuery('The query parameter "sort" names a field twice');
  if (terms.length > MAX_TERMS) throw badQuery(`The query parameter "sort" takes at most ${MAX_TERMS} fields`);
  return terms;
}

/**
 * Whether every value of an order may stand in a cursor. What the system lists may be handed to anybody: for this it sees as
 * little as somebody who is not signed in.
 */
export function isOpen(resource: CompiledResource, sorted: readonly SortTerm[], viewer: QueryViewer): boolean {
  const sight = viewer === 'system' ? undefined : viewer;
  return sorted.every(({ field: name }) => {
    const field = resource.field.get(name);
    if (field === undefined) return true;
    // A cursor carries values that code can compare, one for each field.
    return !field.secret && isScalar(field) && visibilityCondition(resource, field, sight) === undefined;
  });
}
