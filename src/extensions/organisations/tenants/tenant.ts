import { type AnyResource, Field, f } from '../../../extension/index.ts';

/**
 * The field that makes a resource belong to organisations: members see only the records of their organisations. A create sets it to the
 * current organisation of the caller, and it never changes.
 *
 * @example defineResource('ticket', { fields: { organisation: tenant(), title: f.string().required() } })
 */
export function tenant(): Field<string, 'defaulted', string, string, 'immutable', 'filterable' | 'to:organisation'> {
  const { spec } = f.ref('organisation').immutable().filterable();
  return new Field({ ...spec, tenant: true });
}

/** The names of the fields of a declaration that `tenant()` created. The declaration need not be valid. */
function tenantFieldsOf({ fields }: AnyResource): string[] {
  if (typeof fields !== 'object' || fields === null) return [];
  return Object.entries(fields).flatMap(([name, field]) => (field instanceof Field && field.spec.tenant ? [name] : []));
}

/** The fields that hold the organisation of records, by the name of the resource. */
export type TenantFields = ReadonlyMap<string, string>;

/** Finds the resources whose records belong to organisations, with the field that holds the organisation. */
export function findTenantFields(resources: readonly AnyResource[]): TenantFields {
  return new Map(
    resources.flatMap((resource) => {
      const [name] = tenantFieldsOf(resource);
      return name === undefined ? [] : [[resource.name, name] as const];
    }),
  );
}

/** The names of all fields of a resource that `tenant()` created, if there are several: a record belongs to one organisation. */
export function repeatedTenantFields(resource: AnyResource): string[] {
  const names = tenantFieldsOf(resource);
  return names.length > 1 ? names : [];
}
