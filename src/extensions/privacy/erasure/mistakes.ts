import type { Fields } from '../../../declare/field.ts';
import type { ResourceGateway } from '../../../declare/host.ts';
import type { AnyResource } from '../../../declare/resource.ts';
import { type ErasurePlan, erasurePlan } from '../../../records/schema/erasure-plan.ts';

const ACTIONS = ['delete', 'anonymize', 'keep'];

/** Unique indexes in which the anonymized records of several owners would stand with the same values. */
function clashingIndexes({ indexes = [] }: AnyResource, { ownerField, personal }: ErasurePlan): string[] {
  const values = new Map(personal.map(({ name, left }) => [name, left]));
  return indexes.flatMap(({ fields, unique = false }) => {
    const names = fields.map((field) => field.replace(/^-/, ''));
    // Postgres takes any number of rows where one of the values is null.
    const isFree = names.some((name) => name === ownerField || values.get(name) === null);
    return unique && !isFree && names.some((name) => values.has(name)) ? [names.join(', ')] : [];
  });
}

function anonymizeMistakes(declaration: AnyResource, plan: ErasurePlan): string[] {
  const { ownerField, personal } = plan;
  const own =
    ownerField === 'id'
      ? [`onOwnerDelete: 'anonymize' needs an owner field: these records own themselves; take 'delete' or 'keep'`]
      : [];
  const stuck = personal.filter(({ spec, left }) => spec.required && left === null);
  return [
    ...own,
    ...clashingIndexes(declaration, plan).map(
      (names) =>
        `indexes: ${names}: onOwnerDelete: 'anonymize' would leave the same values in many records; take unique away, or required() of the personal field, or take 'delete' or 'keep'`,
    ),
    ...stuck.map(
      ({ name }) =>
        `field "${name}": it is personal and required, so onOwnerDelete: 'anonymize' cannot empty it; take required() away, give it a default() that is no function, or take 'delete' or 'keep'`,
    ),
  ];
}

function resourceMistakes({ declaration }: ResourceGateway, isUser: boolean): string[] {
  const { onOwnerDelete, personalFields = [] } = declaration;
  const fields = declaration.fields as Fields;
  const unknown = personalFields.filter((name) => typeof name !== 'string' || !Object.hasOwn(fields, name));
  const faults = unknown.map(
    (name) => `personalFields: "${name}" is not a field; fields: ${Object.keys(fields).join(', ')}`,
  );
  const plan = erasurePlan(declaration, isUser);
  if (plan.ownerField !== undefined && personalFields.includes(plan.ownerField)) {
    faults.push(`personalFields: "${plan.ownerField}" is the owner field: what becomes of it onOwnerDelete says`);
  }
  if (onOwnerDelete === undefined) return faults;
  if (!ACTIONS.includes(onOwnerDelete)) return [...faults, `onOwnerDelete: must be one of: ${ACTIONS.join(', ')}`];
  if (isUser) {
    return onOwnerDelete === 'delete'
      ? faults
      : [...faults, `onOwnerDelete: the record of a user goes with their account; take it out`];
  }
  if (plan.ownerField === undefined) {
    return [...faults, 'onOwnerDelete: its records have no owner; mark a field with owner(), or take it out'];
  }
  return onOwnerDelete === 'anonymize' ? [...faults, ...anonymizeMistakes(declaration, plan)] : faults;
}

/** What is wrong with the options that an erasure goes by, a line each. */
export function erasureMistakes(resources: readonly ResourceGateway[], users: ResourceGateway): string[] {
  const faults = resources.flatMap((gateway) =>
    resourceMistakes(gateway, gateway === users).map((fault) => `resource "${gateway.name}": ${fault}`),
  );
  const status = (users.declaration.fields as Fields).status?.spec;
  if (status === undefined || !['enum', 'string'].includes(status.type.kind) || status.encrypted) {
    faults.push(
      `resource "${users.name}": privacy() needs a field "status" that tells accounts apart that are being erased; add status: f.enum(['active', 'disabled']).default('active')`,
    );
  }
  return faults;
}
