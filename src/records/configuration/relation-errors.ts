import { Field, type FieldSpec, type Fields } from '../../declare/field.ts';
import type { ReverseRelation } from '../../declare/relation.ts';
import type { AnyResource } from '../../declare/resource.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { findUnknownOptions, suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import { countNameOf } from '../schema/relations.ts';
import { FIELD_NAME, isReservedFieldName, QUERY_PARAMETERS } from './field-names.ts';

/** The resource that a field refers to, directly or with the items of its array. */
function targetOf(spec: FieldSpec): string | undefined {
  return spec.target ?? spec.inner?.spec.target;
}

/** Whether an index finds the records by the value of a field. */
function isIndexed(resource: AnyResource, name: string): boolean {
  const { spec } = (resource.fields as Fields)[name]!;
  if (spec.index || spec.filterable || spec.owner || spec.onDelete || resource.owner === name) return true;
  if (spec.inner !== undefined) return false;
  return (
    spec.unique === true ||
    spec.sortable === true ||
    (resource.indexes ?? []).some(({ fields: [first] }) => first === name)
  );
}

function checkReference(
  resource: AnyResource,
  { target: name, field }: ReverseRelation,
  resources: readonly AnyResource[],
  errors: ConfigErrors,
): void {
  const written = `f.reverse("${name}", "${field}")`;
  const target = resources.find((one) => one.name === name);
  if (target === undefined) {
    const known = resources.map((one) => one.name);
    errors.report(`${written} names an unknown resource${suggestKnownNames(name, 'resources', known)}`);
    return;
  }
  const fields = target.fields as Fields;
  const referring = Object.keys(fields).filter((one) => targetOf(fields[one]!.spec) === resource.name);
  if (!referring.includes(field)) {
    errors.report(
      `${written}: "${field}" of "${name}" is not a reference to "${resource.name}"${suggestKnownNames(field, 'references to it', referring)}`,
    );
    return;
  }
  const { encrypted, hidden, writeOnly } = fields[field]!.spec;
  if (encrypted || hidden || writeOnly)
    errors.report(
      `${written}: clients cannot read "${field}" of "${name}", so they cannot follow it; remove the relation`,
    );
  else if (!isIndexed(target, field))
    errors.report(`${written}: no index finds the records of "${name}" by "${field}"; add .index() to that field`);
}

/** The fields inside an array or an object field, at any depth. */
function nestedSpecsOf(spec: FieldSpec): FieldSpec[] {
  const inside = [...Object.values(spec.shape ?? {}), spec.inner].filter((field) => field instanceof Field);
  return inside.flatMap((field) => [field.spec, ...nestedSpecsOf(field.spec)]);
}

/** Checks that references which must stay valid are top-level fields: nothing else has an index or a foreign key. */
function checkNestedReferences(resource: AnyResource, errors: ConfigErrors): void {
  for (const [name, { spec }] of Object.entries(resource.fields as Fields)) {
    const nested = nestedSpecsOf(spec).find(({ exists }) => exists);
    if (nested === undefined) continue;
    const isItem = spec.inner?.spec === nested && nested.target !== undefined;
    const fix = isItem ? `use f.refs("${nested.target}")` : 'move it to a field of the resource';
    errors
      .at(`field "${name}"`)
      .report(`a reference with "onDelete" or "exists" must be a field of the resource itself; ${fix}`);
  }
}

const MAX_INCLUDED = 100;

function checkLimit({ limit }: ReverseRelation, errors: ConfigErrors): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_INCLUDED)
    errors.report(`limit must be a whole number from 1 to ${MAX_INCLUDED}`);
}

/** Checks the references of a resource, and its reverse relations. */
export function checkRelations(resource: AnyResource, resources: readonly AnyResource[], errors: ConfigErrors): void {
  checkNestedReferences(resource, errors);
  for (const [name, relation] of Object.entries((resource.relations ?? {}) as Record<string, ReverseRelation>)) {
    const at = errors.at(`relation "${name}"`);
    if (isReservedFieldName(name) || QUERY_PARAMETERS.has(name)) at.report('the name is reserved; choose another');
    else if (!FIELD_NAME.test(name))
      at.report('the name of a relation consists of at most 63 letters, digits and _, and begins with a letter');
    else if (Object.hasOwn(resource.fields, name)) at.report('a field has the same name; rename one');
    else if (Object.hasOwn(resource.fields, countNameOf(name)))
      at.report(`its number of records is called "${countNameOf(name)}", but a field has this name; rename one`);
    for (const text of findUnknownOptions(relation.unknownOptions, ['limit'])) at.report(text);
    checkLimit(relation, at);
    checkReference(resource, relation, resources, at);
  }
}
