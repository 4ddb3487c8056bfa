import { type CompiledField, type CompiledResource, columnOf } from '../schema/compiled.ts';
import { fieldVisibilityCondition, type QueryViewer, relatedQueryViewer } from './filter.ts';
import { type ListSortTerm, type RelatedStep, sortsByRelated } from './list-query.ts';
import { joinNames, queryError, shortenForMessage } from './parameter.ts';
import { MAX_PATH_RELATIONS, relationsFor } from './paths.ts';

/** Maximum number of fields in one `sort`. */
export const MAX_SORT_TERMS = 8;

function timestampFields(resource: CompiledResource): string[] {
  return resource.timestamps ? ['createdAt', 'updatedAt'] : [];
}

/** Whether a field holds single values that can be compared. */
function holdsSingleComparableValue({ spec, type }: CompiledField): boolean {
  return type.comparable !== undefined && spec.inner === undefined && !spec.encrypted;
}

/** The fields that at least some clients may sort by: those marked `sortable()`, and the timestamps. */
export function fieldsSortableBySomeClient(resource: CompiledResource): string[] {
  const declared = resource.fields.filter((field) => field.spec.sortable && !field.secret);
  return [...declared.map((field) => field.name), ...timestampFields(resource)];
}

/** The fields that this viewer may sort by. The system may sort by every field with an order. */
function fieldsSortableBy(resource: CompiledResource, viewer: QueryViewer): string[] {
  if (viewer === 'system') {
    return [
      ...resource.fields.filter(holdsSingleComparableValue).map((field) => field.name),
      'id',
      ...timestampFields(resource),
    ];
  }
  return fieldsSortableBySomeClient(resource).filter((name) => {
    const field = resource.field.get(name);
    return field === undefined || fieldVisibilityCondition(resource, field, viewer) === undefined;
  });
}

/** Parses a term that sorts by a field of a referenced record. Only references that the viewer sees in every record can be followed. */
function parseRelatedTerm(
  resource: CompiledResource,
  path: string,
  descending: boolean,
  viewer: QueryViewer,
): ListSortTerm {
  const parts = path.split('.');
  const field = parts.pop()!;
  const refuse = (why: string) => queryError(`Cannot sort by "${shortenForMessage(path)}"; ${why}`);
  if (parts.length > MAX_PATH_RELATIONS) throw refuse(`a path has at most ${MAX_PATH_RELATIONS} references`);
  let holder = resource;
  const steps: RelatedStep[] = [];
  for (const part of parts) {
    const seenBy = holder === resource ? viewer : relatedQueryViewer(viewer, holder);
    const followed = relationsFor(holder, viewer).filter(
      (one) => one.kind === 'one' && fieldVisibilityCondition(holder, one.field, seenBy) === undefined,
    );
    const relation = followed.find(({ name }) => name === part);
    if (relation === undefined)
      throw refuse(`references of "${holder.name}" to sort by: ${joinNames(followed.map(({ name }) => name))}`);
    holder = holder.getResource(relation.target);
    steps.push({ relation, target: holder, visible: [] });
  }
  const allowed = fieldsSortableBy(holder, holder === resource ? viewer : relatedQueryViewer(viewer, holder));
  if (!allowed.includes(field)) throw refuse(`sortable fields of "${holder.name}": ${joinNames(allowed)}`);
  return { field: path, column: columnOf(holder, field), descending, related: { steps, isChecked: false } };
}

/**
 * Parses `sort` into terms. A field with restricted visibility is only available to viewers who see it in every record. Terms with paths must still
 * be completed by `checkSortVisibility`.
 */
export function parseSort(resource: CompiledResource, text: string, viewer: QueryViewer): ListSortTerm[] {
  const allowed = fieldsSortableBy(resource, viewer);
  const terms = text.split(',').map((term): ListSortTerm => {
    const field = term.replace(/^-/, '');
    if (field.includes('.')) return parseRelatedTerm(resource, field, term.startsWith('-'), viewer);
    if (!allowed.includes(field)) {
      throw queryError(`Cannot sort by "${shortenForMessage(field)}"; sortable fields: ${joinNames(allowed)}`);
    }
    return { field, column: columnOf(resource, field), descending: term.startsWith('-') };
  });
  if (new Set(terms.map((term) => term.field)).size < terms.length)
    throw queryError('The query parameter "sort" names a field twice');
  if (terms.length > MAX_SORT_TERMS)
    throw queryError(`The query parameter "sort" takes at most ${MAX_SORT_TERMS} fields`);
  return terms;
}

/**
 * Whether a cursor may contain all values of an order. Lists of the system may be passed on to anybody, so its cursors contain only values
 * that a signed-out viewer may see.
 */
export function canCursorCarryValues(
  resource: CompiledResource,
  sorted: readonly ListSortTerm[],
  viewer: QueryViewer,
): boolean {
  if (sortsByRelated(sorted)) return false;
  const cursorViewer = viewer === 'system' ? undefined : viewer;
  return sorted.every(({ field: name }) => {
    const field = resource.field.get(name);
    if (field === undefined) return true;
    // A cursor carries values that code can compare, one for each field.
    return (
      !field.secret &&
      holdsSingleComparableValue(field) &&
      fieldVisibilityCondition(resource, field, cursorViewer) === undefined
    );
  });
}
