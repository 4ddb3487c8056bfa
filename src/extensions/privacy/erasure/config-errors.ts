import type { Fields } from '../../../declare/field.ts';
import type { ResourceGateway } from '../../../declare/host.ts';
import type { AnyResource } from '../../../declare/resource.ts';
import type { ConfigErrors } from '../../../platform/config/config-errors.ts';
import { createErasurePlan, type ErasurePlan } from '../../../records/schema/erasure-plan.ts';

/** Returns the unique indexes in which anonymized records of several owners would have the same values. */
function findClashingIndexes({ indexes = [] }: AnyResource, { ownerField, personal }: ErasurePlan): string[] {
  const values = new Map(personal.map(({ name, replacement }) => [name, replacement]));
  return indexes.flatMap(({ fields, unique = false }) => {
    const names = fields.map((field) => field.replace(/^-/, ''));
    // A unique index allows any number of rows in which one of the values is null.
    const isFree = names.some((name) => name === ownerField || values.get(name) === null);
    return unique && !isFree && names.some((name) => values.has(name)) ? [names.join(', ')] : [];
  });
}

function reportAnonymizeErrors(declaration: AnyResource, plan: ErasurePlan, errors: ConfigErrors): void {
  const { ownerField, personal } = plan;
  if (ownerField === 'id')
    errors.report(
      `onOwnerDelete: 'anonymize' needs an owner field: these records own themselves; use 'delete' or 'keep'`,
    );
  for (const names of findClashingIndexes(declaration, plan)) {
    errors.report(
      `indexes: ${names}: onOwnerDelete: 'anonymize' would leave the same values in many records; remove unique, remove required() from the personal field, or use 'delete' or 'keep'`,
    );
  }
  for (const { name, spec, replacement } of personal) {
    if (spec.required && replacement === null)
      errors.report(
        `field "${name}": it is personal and required, so onOwnerDelete: 'anonymize' cannot empty it; remove required(), give it a default() that is not a function, or use 'delete' or 'keep'`,
      );
  }
}

function checkErasureOptions({ declaration }: ResourceGateway, isUser: boolean, errors: ConfigErrors): void {
  const { onOwnerDelete, personalFields = [] } = declaration;
  const names = Object.keys(declaration.fields as Fields);
  for (const name of personalFields) {
    if (names.includes(name)) continue;
    errors.report(`personalFields: "${name}" is not a field; fields: ${names.join(', ')}`);
  }
  const plan = createErasurePlan(declaration, isUser);
  if (plan.ownerField !== undefined && personalFields.includes(plan.ownerField))
    errors.report(
      `personalFields: "${plan.ownerField}" is the owner field, which onOwnerDelete already covers; remove it from the list`,
    );
  if (onOwnerDelete === undefined) return;
  if (isUser && onOwnerDelete !== 'delete')
    errors.report('onOwnerDelete: the record of a user is always deleted with their account; remove this option');
  else if (!isUser && plan.ownerField === undefined)
    errors.report('onOwnerDelete: the records have no owner; mark a field with owner(), or remove this option');
  else if (!isUser && onOwnerDelete === 'anonymize') reportAnonymizeErrors(declaration, plan, errors);
}

/** Checks the resource options that an erasure depends on. */
export function checkErasureConfig(
  resources: readonly ResourceGateway[],
  users: ResourceGateway,
  errors: ConfigErrors,
): void {
  for (const gateway of resources)
    checkErasureOptions(gateway, gateway === users, errors.at(`resource "${gateway.name}"`));
  const status = (users.declaration.fields as Fields).status?.spec;
  if (status === undefined || !['enum', 'string'].includes(status.type.kind) || status.encrypted) {
    errors
      .at(`resource "${users.name}"`)
      .report(
        `privacy() needs a field "status", which marks accounts that are being erased; add status: f.enum(['active', 'disabled']).default('active')`,
      );
  }
}
