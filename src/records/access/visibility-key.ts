import { isEmailVerified, ORGANISATION_CHOICE, viewerThroughRelation } from '../../declare/actor.ts';
import type { StoredRecord } from '../../declare/host.ts';
import type { CompiledPolicy, Viewer } from '../../declare/policy.ts';
import type { CompiledResource } from '../schema/compiled.ts';

/** Groups viewers who see the same data of a resource. One response can be sent to all viewers of a group. */
interface VisibilityKey {
  /**
   * The key of a viewer. Viewers with equal keys see the same data of every record, except for the users that `ownersIn` returns. If a
   * scope or policy function decides about visibility, each viewer has a key of their own.
   */
  keyOf(viewer: Viewer | undefined): string;
  /** The owners of the record and of the records expanded in it. `owner` rules show them fields that they hide from other viewers. */
  ownersIn(record: StoredRecord): string[];
}

/** The policies of the fields that only some viewers see. */
function listFieldPolicies(resource: CompiledResource): CompiledPolicy[] {
  return resource.fields.flatMap(({ secret, visibleTo }) => (secret || visibleTo === undefined ? [] : [visibleTo]));
}

const hasPolicyFunction = (policies: readonly CompiledPolicy[]) =>
  policies.some((policy) => policy.functions.length > 0);
const hasVerifiedPolicy = (policies: readonly CompiledPolicy[]) => policies.some((policy) => policy.verified);
const hasOwnerPolicy = (policies: readonly CompiledPolicy[]) => policies.some((policy) => policy.owner);

/**
 * Creates the visibility key of a resource from its declaration and the declarations of the resources that every read expands.
 *
 * @param getResource finds a resource by its name
 */
export function createVisibilityKey(
  resource: CompiledResource,
  getResource: (name: string) => CompiledResource,
): VisibilityKey {
  const policies = [resource.policies.read, ...listFieldPolicies(resource)];
  const populatedTargets = resource.populated.map((name) => {
    const target = getResource(resource.field.get(name)!.target!);
    return { name, target, policies: [target.policies.reference, ...listFieldPolicies(target)] };
  });
  // Only the id of an expanded record is known here. The owner of the expanded record is known only if the record owns itself.
  const isOfUnknownOwner = ({ target, policies }: (typeof populatedTargets)[number]) =>
    hasOwnerPolicy(policies) && target.ownerField !== undefined && target.ownerField !== 'id';
  const isKeyPerViewer =
    resource.declaration.scope !== undefined ||
    hasPolicyFunction(policies) ||
    populatedTargets.some(
      (one) => one.target.declaration.scope !== undefined || hasPolicyFunction(one.policies) || isOfUnknownOwner(one),
    );
  const dependsOnVerification =
    hasVerifiedPolicy(policies) || populatedTargets.some((one) => hasVerifiedPolicy(one.policies));
  const owned = hasOwnerPolicy(policies) ? resource.ownerField : undefined;
  const selfOwned = populatedTargets.filter((one) => hasOwnerPolicy(one.policies) && one.target.ownerField === 'id');
  const owners = [...(owned === undefined ? [] : [owned]), ...selfOwned.map(({ name }) => name)];

  /** The resources whose records are expanded on every read, but not for the credential of this viewer. */
  const findLimitedTargets = (viewer: Viewer) =>
    populatedTargets.flatMap(({ target: { name } }) =>
      viewerThroughRelation(viewer, name) === undefined ? [name] : [],
    );

  return {
    keyOf(viewer) {
      if (viewer === undefined) return '';
      const limited = findLimitedTargets(viewer);
      if (isKeyPerViewer) {
        // A scope filter may depend on the viewer's current organisation.
        const { bound, current, role } = viewer[ORGANISATION_CHOICE] ?? {};
        const limits = [limited, bound ?? null, current ?? null, ...(role === undefined ? [] : [role])];
        const isLimited = limited.length > 0 || bound !== undefined || current !== undefined;
        return isLimited ? JSON.stringify([viewer.id, ...limits]) : viewer.id;
      }
      const roles = [...(viewer.roles ?? [])].sort();
      const parts = [
        ...(dependsOnVerification ? [isEmailVerified(viewer)] : []),
        ...(limited.length > 0 ? [limited] : []),
      ];
      return JSON.stringify(parts.length === 0 ? roles : [...parts, roles]);
    },
    ownersIn: (record) => owners.flatMap((name) => (record[name] as string | string[] | undefined) ?? []),
  };
}
