import type { AnyField, FieldSpec, Fields } from '../../declare/field.ts';
import type { ResourceGateway } from '../../declare/host.ts';
import { snakeCase } from '../../declare/naming.ts';
import type { AnyResource } from '../../declare/resource.ts';
import { jsonbText } from '../../platform/postgres/jsonb-text.ts';
import { fieldSchema } from '../fields/field-type.ts';
import { checkedDefault } from '../fields/missing-values.ts';
import { isFreeText, isPersonal } from '../fields/personal-data.ts';
import { ownerFieldOf } from './compile.ts';

/** A field that is emptied when the account of a record's owner is erased. */
export interface EmptiedField {
  name: string;
  column: string;
  spec: FieldSpec;
  /** The value that replaces it, as a create would store it: the default of a required field, else null. */
  left: unknown;
  /** The same as `->>` of a JSON record returns it. */
  emptied: string | null;
}

/** What becomes of a resource's records when the account of their owner is erased. */
export interface ErasurePlan {
  /** Undefined: its records have no owner. */
  ownerField: string | undefined;
  /** Of the owner field: `id` when a record owns itself. */
  ownerColumn: string | undefined;
  action: 'delete' | 'anonymize' | 'keep';
  /** Fields that hold personal data: marked, named like it, or listed in `personalFields`. */
  personal: readonly EmptiedField[];
}

/** The value of an emptied field. A default that a function makes does not count: it would look like the person's own value. */
function leftIn(name: string, spec: FieldSpec): unknown {
  if (!spec.required || typeof spec.default === 'function') return null;
  return checkedDefault(name, spec, fieldSchema(spec, 'reject')) ?? null;
}

function emptiedField(name: string, spec: FieldSpec, action: ErasurePlan['action']): EmptiedField {
  const left = action === 'anonymize' ? leftIn(name, spec) : null;
  const emptied = left === null || typeof left === 'string' ? left : jsonbText(left);
  return { name, column: snakeCase(name), spec, left, emptied };
}

/**
 * Reads the options `onOwnerDelete` and `personalFields`. Without the first, records go with their owner. The declaration must be free
 * of other errors.
 *
 * @param isUser of the user resource: there every text is personal
 */
export function erasurePlan(resource: AnyResource, isUser: boolean): ErasurePlan {
  const ownerField = ownerFieldOf(resource);
  const action = resource.onOwnerDelete ?? 'delete';
  const listed = new Set(resource.personalFields);
  const personal = Object.entries(resource.fields as Fields).filter(
    ([name, { spec }]: [string, AnyField]) =>
      name !== ownerField && (listed.has(name) || isPersonal(name, spec) || (isUser && isFreeText(spec))),
  );
  return {
    ownerField,
    ownerColumn: ownerField === undefined ? undefined : snakeCase(ownerField),
    action,
    personal: personal.map(([name, { spec }]) => emptiedField(name, spec, action)),
  };
}

/** A resource whose records an erasure deletes or anonymizes. */
export interface ErasureShare {
  gateway: ResourceGateway;
  /** Its owner field and column are set. */
  plan: ErasurePlan;
}

/** The resources whose records an erasure deletes or anonymizes with the account of their owner. The user's own record is one of them. */
export function erasureShares(resources: readonly ResourceGateway[], users: ResourceGateway): ErasureShare[] {
  return resources.flatMap((gateway): ErasureShare[] => {
    const plan = erasurePlan(gateway.declaration, gateway === users);
    if (gateway === users) return [{ gateway, plan: { ...plan, ownerField: 'id', ownerColumn: 'id' } }];
    return plan.ownerField === undefined || plan.action === 'keep' ? [] : [{ gateway, plan }];
  });
}
