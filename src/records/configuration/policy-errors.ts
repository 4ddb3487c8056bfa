import type { FieldSpec, Fields } from '../../declare/field.ts';
import { compilePolicy, type Policy } from '../../declare/policy.ts';
import { ACTIONS, type AnyResource } from '../../declare/resource.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import { ownerFieldOf } from '../schema/compile.ts';
import { unknownRoleErrors } from './roles.ts';

const POLICY_NAMES: readonly string[] = [...ACTIONS, 'reference'];

/** Reports rules that conflict with the option `owner`. For a field that is marked owner(), such rules are reported with the field. */
function checkOwnerFieldRules(spec: FieldSpec, errors: ConfigErrors): void {
  if (spec.writeOnly) errors.report('an owner is never accepted and writeOnly() is never returned; use hidden()');
  if (spec.writableBy !== undefined)
    errors.report('an owner is never accepted from clients, so writableBy() has no effect; remove one');
  if (spec.immutable && !spec.hidden && !spec.readOnly)
    errors.report('an owner is never accepted from clients, so immutable() has no effect; remove it');
}

/** Checks the owner field of a resource. */
export function checkOwnerField(resource: AnyResource, errors: ConfigErrors): void {
  const fields = resource.fields as Fields;
  const owners = Object.entries(fields).filter(([, field]) => field.spec.owner);
  if (owners.length > 1)
    errors.report(`several fields are marked owner(): ${owners.map(([name]) => `"${name}"`).join(' and ')}; keep one`);
  for (const [name, { spec }] of owners) {
    if (spec.target !== undefined && spec.target !== 'user')
      errors.at(`field "${name}"`).report(`an owner is a ref("user")`);
  }
  if (resource.owner === undefined || resource.owner === '_id') return;
  const spec = fields[resource.owner]?.spec;
  if (spec === undefined) errors.at('owner').report(`"${resource.owner}" is not a field`);
  else if (!['ref', 'id'].includes(spec.type.kind) || (spec.target ?? 'user') !== 'user')
    errors.at('owner').report(`"${resource.owner}" must be a ref("user")`);
  if (spec !== undefined && !spec.owner) checkOwnerFieldRules(spec, errors.at(`field "${resource.owner}"`));
  if (owners.length > 0 && owners[0]![0] !== resource.owner)
    errors.at('owner').report('a field is already marked owner(); remove the option');
}

/**
 * Checks the policies of a resource and of its fields.
 *
 * @param roles the roles that users can have; undefined if any word may be a role
 */
export function checkPolicies(resource: AnyResource, roles: readonly string[] | undefined, errors: ConfigErrors): void {
  const owned = ownerFieldOf(resource) !== undefined;
  const checkOwnerAndRoles = (at: string, policy: Policy) => {
    const { owner } = compilePolicy(policy, () => undefined);
    if (owner && !owned) errors.at(at).report(`"owner" needs an owner field; mark a ref("user") with owner()`);
    for (const text of unknownRoleErrors(policy, roles)) errors.at(at).report(text);
  };
  for (const [action, policy] of Object.entries(resource.policies ?? {})) {
    const at = `policies.${action}`;
    if (!POLICY_NAMES.includes(action))
      errors.at(at).report(`unknown action${suggestKnownNames(action, 'actions', POLICY_NAMES)}`);
    else if (policy !== undefined) {
      compilePolicy(policy, (text) => errors.at(at).report(text));
      checkOwnerAndRoles(at, policy);
    }
  }
  for (const [name, { spec }] of Object.entries(resource.fields as Fields)) {
    // Malformed policies of fields are reported with the field.
    if (spec.visibleTo !== undefined) checkOwnerAndRoles(`field "${name}": visibleTo`, spec.visibleTo);
    if (spec.writableBy !== undefined) checkOwnerAndRoles(`field "${name}": writableBy`, spec.writableBy);
  }
}
