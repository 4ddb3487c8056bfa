import type { FieldSpec, Fields } from '../../declare/field.ts';
import type { ReverseRelation } from '../../declare/relation.ts';
import type { AnyResource } from '../../declare/resource.ts';
import type { ConfigErrors } from '../../platform/config/config-errors.ts';
import { suggestKnownNames } from '../../platform/config/did-you-mean.ts';
import { FIELD_NAME, isReservedFieldName, QUERY_PARAMETERS } from './field-names.ts';

/** The resource to which a field refers, directly or with the items of its array. */
function targetOf(spec: FieldSpec): string | undefined {
  return spec.target ?? spec.inner?.spec.target;
}

/** Whether an index finds the records by the value of a field. */
function isIndexed(resource: AnyResource, name: string): boolean {
  const { spec } = (resource.fields as Fields)[name]!;
  if (spec.index || spec.filterable || spec.owner || resource.owner === name) return true;
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

/** Checks the reverse relations of a resource. */
export function checkRelations(resource: AnyResource, resources: readonly AnyResource[], errors: ConfigErrors): void {
  for (const [name, relation] of Object.entries((resource.relations ?? {}) as Record<string, ReverseRelation>)) {
    const at = errors.at(`relation "${name}"`);
    if (isReservedFieldName(name) || QUERY_PARAMETERS.has(name)) at.report('the name is reserved; choose another');
    else if (!FIELD_NAME.test(name))
      at.report('the name of a relation consists of at most 63 letters, digits and _, and begins with a letter');
    else if (Object.hasOwn(resource.fields, name)) at.report('a field has the same name; rename one');
    checkReference(resource, relation, resources, at);
  }
}
