import type { StoredRecord } from '../../declare/host.ts';
import type { CompiledPolicy, Viewer } from '../../declare/policy.ts';
import type { CompiledResource } from '../schema/compiled.ts';

/** Groups viewers who see the same data of a resource, so that one response can be sent to all viewers of a group. */
export interface VisibilityKey {
  /**
   * The key of a viewer. Viewers with equal keys see the same data of every record, except for the users that `ownersIn` returns. If a
   * scope or policy function decides about visibility, each viewer has a key of their own.
   */
  of(viewer: Viewer | undefined): string;
  /** The users to whom `owner` rules may show more of a record, or of the records expanded in it, than other viewers see. */
  ownersIn(record: StoredRecord): string[];
}

/** The policies of the fields that only some viewers see. */
function readPoliciesOfFields(resource: CompiledResource): CompiledPolicy[] {
  return resource.fields.flatMap(({ secret, visibleTo }) => (secret || visibleTo === undefined ? [] : [visibleTo]));
}

const hasFunction = (policies: readonly CompiledPolicy[]) => policies.some((policy) => policy.functions.length > 0);
const hasOwner = (policies: readonly CompiledPolicy[]) => policies.some((policy) => policy.owner);

/**
 * Creates the visibility key of a resource from its declaration and the declarations of the resources that every read expands.
 *
 * @param resourceOf finds a resource by its name
 */
export function createVisibilityKey(
  resource: CompiledResource,
  resourceOf: (name: string) => CompiledResource,
): VisibilityKey {
  const policies = [resource.policies.read, ...readPoliciesOfFields(resource)];
  const populatedTargets = resource.populated.map((name) => {
    const target = resourceOf(resource.field.get(name)!.target!);
    return { name, target, policies: [target.policies.reference, ...readPoliciesOfFields(target)] };
  });
  // Only the id of an expanded record is known here. The owner of the expanded record is known only if the record owns itself.
  const isOfUnknownOwner = ({ target, policies }: (typeof populatedTargets)[number]) =>
    hasOwner(policies) && target.ownerField !== undefined && target.ownerField !== 'id';
  const isKeyPerViewer =
    resource.declaration.scope !== undefined ||
    hasFunction(policies) ||
    populatedTargets.some(
      (one) => one.target.declaration.scope !== undefined || hasFunction(one.policies) || isOfUnknownOwner(one),
    );
  const owned = hasOwner(policies) ? resource.ownerField : undefined;
  const selfOwned = populatedTargets.filter((one) => hasOwner(one.policies) && one.target.ownerField === 'id');
  const owners = [...(owned === undefined ? [] : [owned]), ...selfOwned.map(({ name }) => name)];

  return {
    of(viewer) {
      if (viewer === undefined) return '';
      return isKeyPerViewer ? viewer.id : JSON.stringify([...(viewer.roles ?? [])].sort());
    },
    ownersIn: (record) => owners.flatMap((name) => (record[name] as string | string[] | undefined) ?? []),
  };
}
