import {
  type AnyResource,
  type ConfigErrors,
  createErasurePlan,
  type ErasurePlan,
  type Fields,
  type ResourceGateway,
} from '../../../extension/index.ts';

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

/** Whether an erasure deletes records of a resource. */
function deletesRecords(gateway: ResourceGateway, users: ResourceGateway): boolean {
  if (gateway === users) return true;
  const { ownerField, action } = createErasurePlan(gateway.declaration, false);
  return ownerField !== undefined && action === 'delete';
}

/** Reports references that would stop an erasure, because they can neither be kept nor cleared. */
function checkReferences(gateway: ResourceGateway, { resources, users }: Erasable, errors: ConfigErrors): void {
  const plan = createErasurePlan(gateway.declaration, gateway === users);
  for (const [name, { spec }] of Object.entries(gateway.declaration.fields as Fields)) {
    const target = resources.find((one) => one.name === spec.target);
    if (spec.onDelete === undefined || target === undefined) continue;
    const isOwner = name === plan.ownerField;
    if (isOwner && plan.action === 'keep')
      errors
        .at(`field "${name}"`)
        .report(
          `onOwnerDelete: 'keep' keeps the id of an erased user, but with onDelete: '${spec.onDelete}' the user must exist; remove onDelete, or use onOwnerDelete: 'anonymize' or 'delete'`,
        );
    if (spec.onDelete !== 'restrict' || !spec.required || (isOwner && plan.action === 'delete')) continue;
    if (deletesRecords(target, users))
      errors
        .at(`field "${name}"`)
        .report(
          `an erasure deletes records of "${target.name}" and clears references to them, but the field is required; remove required(), or use onDelete: 'cascade'`,
        );
  }
}

interface Erasable {
  resources: readonly ResourceGateway[];
  users: ResourceGateway;
}

/** Checks the resource options that an erasure depends on. */
export function checkErasureConfig(
  resources: readonly ResourceGateway[],
  users: ResourceGateway,
  errors: ConfigErrors,
): void {
  for (const gateway of resources) {
    const at = errors.at(`resource "${gateway.name}"`);
    checkErasureOptions(gateway, gateway === users, at);
    checkReferences(gateway, { resources, users }, at);
  }
  const status = (users.declaration.fields as Fields).status?.spec;
  if (status === undefined || !['enum', 'string'].includes(status.type.kind) || status.encrypted) {
    errors
      .at(`resource "${users.name}"`)
      .report(
        `privacy() needs a field "status", which marks accounts that are being erased; add status: f.enum(['active', 'disabled']).default('active')`,
      );
  }
}
