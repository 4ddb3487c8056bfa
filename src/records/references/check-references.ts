import type { StoredRecord } from '../../declare/host.ts';
import type { ErrorDetails } from '../../platform/helpers/errors.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { CompiledField, CompiledResource, Values } from '../schema/compiled.ts';
import { missingReferenceMessage } from '../schema/references.ts';
import { InputError } from '../schema/rule-errors.ts';
import { type LookupContext, lookUpRecords, type RecordLookup } from './record-lookup.ts';

/** Validated values of a record whose references are checked before they are written. */
interface ReferencingValues {
  values: Values;
  /** Whether the caller of a write with a user's privilege chose this id in a field, rather than code: a hook or a default. */
  isChosenByCaller(field: string, id: string): boolean;
}

/** A reference to check. */
interface CheckedReference {
  field: CompiledField;
  /** The place of the reference in the values: `organisation`, `tags.2`. */
  path: string;
  id: string;
  byCaller: boolean;
  lookup: RecordLookup;
}

/** A reference to a record that does not exist, or that is not visible to the caller. */
export type MissingReference = Omit<CheckedReference, 'lookup'>;

/** Whether writes of a resource lock the records that they refer to: arrays have no foreign keys that would. */
export function locksReferences({ checkedReferences }: CompiledResource): boolean {
  return checkedReferences.some(({ spec }) => spec.inner !== undefined);
}

/** Whether the reference is the owner that a create sets itself: the signed-in user, who exists. */
function isSignedInOwner({ ownerField }: CompiledResource, one: MissingReference, { user }: OperationContext): boolean {
  return one.field.name === ownerField && !one.byCaller && one.id === user?.id;
}

/** Collects the references of a record, and adds their ids to the lookups. */
function collectReferences(
  resource: CompiledResource,
  { values, isChosenByCaller }: ReferencingValues,
  lookups: Map<string, RecordLookup>,
  operation: OperationContext,
): CheckedReference[] {
  return resource.checkedReferences.flatMap((field) => {
    const value = values[field.name];
    if (value === undefined || value === null) return [];
    const locks = field.spec.inner !== undefined;
    const ids = locks ? (value as string[]) : [value as string];
    return ids.flatMap((id, i): CheckedReference[] => {
      const byCaller = !operation.system && isChosenByCaller(field.name, id);
      const one = { field, path: locks ? `${field.name}.${i}` : field.name, id, byCaller };
      if (isSignedInOwner(resource, one, operation)) return [];
      const key = JSON.stringify([field.target, byCaller, locks]);
      let lookup = lookups.get(key);
      if (lookup === undefined) {
        lookup = { target: field.target!, ids: new Set(), checksVisibility: byCaller, locks };
        lookups.set(key, lookup);
      }
      lookup.ids.add(id);
      return [{ ...one, lookup }];
    });
  });
}

/**
 * Finds the references of validated values whose records do not exist, with one statement for all fields and records. If a write runs with
 * a user's privilege and its caller chose the reference, a record counts only if that user may read it, or see it expanded in other
 * records. Otherwise the result would reveal that a hidden record exists.
 *
 * @returns the missing references of each record, in the same order
 */
export async function findMissingReferences(
  context: LookupContext,
  resource: CompiledResource,
  records: readonly ReferencingValues[],
  operation: OperationContext,
): Promise<MissingReference[][]> {
  const lookups = new Map<string, RecordLookup>();
  const checked = records.map((record) => collectReferences(resource, record, lookups, operation));
  if (lookups.size === 0) return records.map(() => []);
  const found = await lookUpRecords(context, [...lookups.values()], operation);
  const isMissing = ({ lookup, id, byCaller }: CheckedReference) => {
    const isVisible = found.get(lookup)!.get(id);
    return byCaller ? isVisible !== true : isVisible === undefined;
  };
  return checked.map((references) => references.filter(isMissing));
}

/** Whether a record held this reference already. */
export function hadReference({ field, id }: MissingReference, before: StoredRecord): boolean {
  const value = before[field.name];
  return Array.isArray(value) ? value.includes(id) : value === id;
}

/**
 * Refuses missing references.
 *
 * @throws ApiError VALIDATION_ERROR with the message of each field that the caller sent; an Error of the project if only code chose them
 */
export function assertNoMissingReferences(
  resource: CompiledResource,
  missing: readonly MissingReference[],
  operation: OperationContext,
): void {
  if (missing.length === 0) return;
  const named = operation.system ? missing : missing.filter(({ byCaller }) => byCaller);
  if (named.length === 0) {
    const names = [...new Set(missing.map(({ field }) => `"${field.name}"`))].join(', ');
    throw new Error(`a hook or a default of "${resource.name}" refers to a record that does not exist: ${names}`);
  }
  const details: ErrorDetails = Object.fromEntries(
    named.map(({ path, field }) => [path, missingReferenceMessage(field)]),
  );
  throw new InputError('VALIDATION_ERROR', undefined, { details });
}

/**
 * Tells which ids the caller chose: those that the input contained when it was validated, before a hook ran. An id stays the choice of the caller if a
 * hook reorders a list or adds others to it.
 *
 * @param validated the validated values before a hook ran
 */
export function idsChosenByCaller(input: unknown, validated: Values): ReferencingValues['isChosenByCaller'] {
  return (name, id) => {
    if (!Object.hasOwn(Object(input), name)) return false;
    const chosen = validated[name];
    return Array.isArray(chosen) ? chosen.includes(id) : chosen === id;
  };
}
