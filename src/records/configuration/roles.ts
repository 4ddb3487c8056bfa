import type { Fields } from '../../declare/field.ts';
import { compilePolicy, type Policy, roleNameError, VERIFIED } from '../../declare/policy.ts';
import type { AnyResource } from '../../declare/resource.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';

const NEEDS_VERIFICATION =
  'the word "verified" requires an extension that verifies e-mail addresses; add emailVerification() to extensions';

/** The roles that users can have; undefined if no user resource lists them. */
export function declaredUserRoles(resources: readonly AnyResource[]): readonly string[] | undefined {
  const user = resources.find((resource) => resource.name === 'user');
  return (user?.fields as Fields | undefined)?.roles?.spec.inner?.spec.values;
}

/** The words that can restrict a policy to certain users: the roles and, if an extension verifies e-mail addresses, `verified`. */
export function declaredPolicyWords(resources: readonly AnyResource[]): readonly string[] | undefined {
  const user = resources.find((resource) => resource.name === 'user');
  const roles = declaredUserRoles(resources);
  return user?.fields !== undefined && 'emailVerifiedAt' in user.fields ? roles && [...roles, VERIFIED] : roles;
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
    else if (role === VERIFIED && 'emailVerifiedAt' in (resource.fields as Fields))
      at.report(
        `"${role}" cannot be a role: policies allow users with a verified e-mail address with it; choose another`,
      );
  }
  if (spec.hidden || spec.readOnly) return;
  const { writableBy } = spec;
  const writers = writableBy === undefined ? undefined : compilePolicy(writableBy, () => undefined);
  if (writers === undefined || writers.public || writers.authenticated || writers.verified || writers.owner)
    at.report(`users could give themselves any role; restrict it, for example with writableBy("admin")`);
}

/**
 * The messages about words in a policy that apply to no user.
 *
 * @param known the result of `declaredPolicyWords`
 */
export function unknownRoleErrors(policy: Policy, known: readonly string[] | undefined): string[] {
  if (known === undefined) return [];
  const { roles, verified } = compilePolicy(policy, () => undefined);
  const declared = known.filter((word) => word !== VERIFIED);
  const unknown = roles
    .filter((role) => role !== VERIFIED && !declared.includes(role))
    .map((role) => `"${role}" is not a role${suggestKnownNames(role, 'roles', declared)}`);
  return verified && !known.includes(VERIFIED) ? [...unknown, NEEDS_VERIFICATION] : unknown;
}
