import type { Fields } from '../../declare/field.ts';
import { compilePolicy, type Policy, roleNameError } from '../../declare/policy.ts';
import type { AnyResource } from '../../declare/resource.ts';
import type { ConfigErrors } from '../../platform/config/config-errors.ts';
import { suggestKnownNames } from '../../platform/config/did-you-mean.ts';

/** The roles that users can have; undefined if no user resource lists them. */
export function declaredUserRoles(resources: readonly AnyResource[]): readonly string[] | undefined {
  const user = resources.find((resource) => resource.name === 'user');
  return (user?.fields as Fields | undefined)?.roles?.spec.inner?.spec.values;
}

/** Checks the field `roles` of the user resource, which holds the roles that policies check. */
export function checkRoleField(resource: AnyResource, errors: ConfigErrors): void {
  const spec = resource.name === 'user' ? (resource.fields as Fields).roles?.spec : undefined;
  if (spec === undefined) return;
  const at = errors.at('field "roles"');
  // A text field would match a role inside another one: "admin" in "not-admin".
  if (spec.inner?.spec.type.kind !== 'enum') {
    at.report(`policies read roles from this field; make it f.array(f.enum([…]))`);
    return;
  }
  for (const role of spec.inner.spec.values ?? []) {
    const error = roleNameError(role);
    if (error !== undefined) at.report(error);
  }
  if (spec.hidden || spec.readOnly) return;
  const { writableBy } = spec;
  const writers = writableBy === undefined ? undefined : compilePolicy(writableBy, () => undefined);
  if (writers === undefined || writers.public || writers.authenticated || writers.owner)
    at.report(`users could give themselves any role; restrict it, for example with writableBy("admin")`);
}

/**
 * The messages about roles in a policy that no user can have.
 *
 * @param known undefined if any word may be a role
 */
export function unknownRoleErrors(policy: Policy, known: readonly string[] | undefined): string[] {
  if (known === undefined) return [];
  const { roles } = compilePolicy(policy, () => undefined);
  return roles
    .filter((role) => !known.includes(role))
    .map((role) => `"${role}" is not a role${suggestKnownNames(role, 'roles', known)}`);
}
