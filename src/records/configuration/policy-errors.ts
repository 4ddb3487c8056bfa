import type { FieldSpec, Fields } from '../../declare/field.ts';
import { compilePolicy, type Policy } from '../../declare/policy.ts';
import { ACTIONS, type AnyResource } from '../../declare/resource.ts';
import { ownerFieldOf } from '../schema/compile.ts';
import { unknownRoles } from './roles.ts';

type Fault = (text: string) => void;

const POLICIES: readonly string[] = [...ACTIONS, 'reference'];

/** Rules that say nothing of an owner by option. Those of a field that is marked owner() are reported with it. */
function emptyOwnerRules(spec: FieldSpec, fault: Fault): void {
  if (spec.writeOnly) fault('an owner is never accepted, writeOnly() never returned; write hidden()');
  if (spec.writableBy !== undefined) fault('an owner leaves writableBy() nobody who may set it; remove one');
  if (spec.immutable && !spec.hidden && !spec.readOnly)
    fault('an owner is never taken from clients, and immutable() binds nobody else; remove it');
}

/** The mistakes in who owns a resource's records. */
export function ownerMistakes(resource: AnyResource, fault: Fault): void {
  const fields = resource.fields as Fields;
  const owners = Object.entries(fields).filter(([, field]) => field.spec.owner);
  if (owners.length > 1)
    fault(`two fields are marked owner(): ${owners.map(([name]) => `"${name}"`).join(' and ')}; keep one`);
  for (const [name, { spec }] of owners) {
    if (spec.target !== undefined && spec.target !== 'user') fault(`field "${name}": an owner is a ref("user")`);
  }
  if (resource.owner === undefined || resource.owner === '_id') return;
  const spec = fields[resource.owner]?.spec;
  if (spec === undefined) fault(`owner: "${resource.owner}" is not a field`);
  else if (!['ref', 'id'].includes(spec.type.kind) || (spec.target ?? 'user') !== 'user')
    fault(`owner: "${resource.owner}" must be a ref("user")`);
  if (spec !== undefined && !spec.owner) emptyOwnerRules(spec, (text) => fault(`field "${resource.owner}": ${text}`));
  if (owners.length > 0 && owners[0]![0] !== resource.owner)
    fault('owner: a field is marked owner() already; remove the option');
}

/**
 * The mistakes in the policies of a resource and of its fields.
 *
 * @param roles those that users can have; undefined where any word may be one
 */
export function policyMistakes(resource: AnyResource, roles: readonly string[] | undefined, fault: Fault): void {
  const owned = ownerFieldOf(resource) !== undefined;
  const check = (at: string, policy: Policy) => {
    const { owner } = compilePolicy(policy, () => undefined);
    if (owner && !owned) fault(`${at}: "owner" needs an owner field; mark a ref("user") with owner()`);
    for (const text of unknownRoles(policy, roles)) fault(`${at}: ${text}`);
  };
  for (const [action, policy] of Object.entries(resource.policies ?? {})) {
    const at = `policies.${action}`;
    if (!POLICIES.includes(action)) fault(`${at}: unknown action; actions: ${POLICIES.join(', ')}`);
    else if (policy !== undefined) {
      compilePolicy(policy, (text) => fault(`${at}: ${text}`));
      check(at, policy);
    }
  }
  for (const [name, { spec }] of Object.entries(resource.fields as Fields)) {
    // What is malformed in these is reported with the field.
    if (spec.visibleTo !== undefined) check(`field "${name}": visibleTo`, spec.visibleTo);
    if (spec.writableBy !== undefined) check(`field "${name}": writableBy`, spec.writableBy);
  }
}
