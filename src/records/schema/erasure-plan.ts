import type { AnyField, FieldSpec, Fields } from '../../declare/field.ts';
import type { ResourceGateway } from '../../declare/host.ts';
import { snakeCase } from '../../declare/naming.ts';
import type { AnyResource } from '../../declare/resource.ts';
import { toJsonbText } from '../../platform/data/postgres/values.ts';
import { fieldSchema } from '../fields/field-type.ts';
import { createValidDefault } from '../fields/missing-values.ts';
import { isFreeTextField, isPersonalField } from '../fields/personal-data.ts';
import { ownerFieldOf } from './compile.ts';

/** A field that is emptied when the account of a record's owner is erased. */
export interface EmptiedField {
  name: string;
  column: string;
  spec: FieldSpec;
  /**
   * What an erasure writes in place of the field's value, as it is stored in Postgres: the default if the field is required, otherwise null.
   */
  replacement: unknown;
  /** The replacement as the SQL operator `->>` returns it from a record's JSON. */
  replacementText: string | null;
}

/** What happens to a resource's records when the account of their owner is erased. */
export interface ErasurePlan {
  /** Undefined if its records have no owner. */
  ownerField: string | undefined;
  /** The column of the owner field: `id` if a record owns itself. */
  ownerColumn: string | undefined;
  action: 'delete' | 'anonymize' | 'keep';
  /** Fields that hold personal data: marked `pii()`, named like personal data, or listed in `personalFields`. */
  personal: readonly EmptiedField[];
}

/**
 * The value that replaces the content of an emptied field. Results of default functions are not used: they would look like the person's own
 * value.
 */
function replacementValueOf(name: string, spec: FieldSpec): unknown {
  if (!spec.required || typeof spec.default === 'function') return null;
  return createValidDefault(name, spec, fieldSchema(spec, 'reject')) ?? null;
}

function planEmptiedField(name: string, spec: FieldSpec, action: ErasurePlan['action']): EmptiedField {
  const replacement = action === 'anonymize' ? replacementValueOf(name, spec) : null;
  const replacementText =
    replacement === null || typeof replacement === 'string' ? replacement : toJsonbText(replacement);
  return { name, column: snakeCase(name), spec, replacement, replacementText };
}

/**
 * Evaluates the options `onOwnerDelete` and `personalFields`. Without `onOwnerDelete`, records are deleted together with their owner's
 * account. Call it only with a declaration that has no other errors.
 *
 * @param isUser whether this is the user resource, whose texts are all personal
 */
export function createErasurePlan(resource: AnyResource, isUser: boolean): ErasurePlan {
  const ownerField = ownerFieldOf(resource);
  const action = resource.onOwnerDelete ?? 'delete';
  const listed = new Set(resource.personalFields);
  const personal = Object.entries(resource.fields as Fields).filter(
    ([name, { spec }]: [string, AnyField]) =>
      name !== ownerField && (listed.has(name) || isPersonalField(name, spec) || (isUser && isFreeTextField(spec))),
  );
  return {
    ownerField,
    ownerColumn: ownerField === undefined ? undefined : snakeCase(ownerField),
    action,
    personal: personal.map(([name, { spec }]) => planEmptiedField(name, spec, action)),
  };
}

/** A resource whose records an erasure deletes or anonymizes. */
export interface ErasureTarget {
  gateway: ResourceGateway;
  /** The erasure plan. Its `ownerField` and `ownerColumn` are always set. */
  plan: ErasurePlan;
}

/**
 * The resources whose records an erasure deletes or anonymizes together with the account of their owner. Includes the user's own record.
 */
export function findErasureTargets(resources: readonly ResourceGateway[], users: ResourceGateway): ErasureTarget[] {
  return resources.flatMap((gateway): ErasureTarget[] => {
    const plan = createErasurePlan(gateway.declaration, gateway === users);
    if (gateway === users) return [{ gateway, plan: { ...plan, ownerField: 'id', ownerColumn: 'id' } }];
    return plan.ownerField === undefined || plan.action === 'keep' ? [] : [{ gateway, plan }];
  });
}
