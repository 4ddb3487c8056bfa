import { ApiError } from '../../platform/helpers/errors.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { relatedViewContext } from '../access/related-visibility.ts';
import { isFieldVisible, isInScope, isRecordVisible } from '../access/visibility.ts';
import type { EntityContext } from '../store/entity.ts';
import type { RestrictingRecords } from './affected-records.ts';

const GENERAL = 'Other records refer to this record, so it cannot be deleted';

/** Whether the caller sees at least one of the records, and the field that refers to the deleted record. */
async function seesReference(
  context: EntityContext,
  { resource: name, field, ids }: RestrictingRecords,
  given: OperationContext,
): Promise<boolean> {
  if (given.system) return true;
  const entity = context.entities.get(name)!;
  const operation = relatedViewContext(given, entity.resource);
  for (const record of await entity.store.readMany(ids)) {
    const visible =
      (await isInScope(entity, record, operation)) &&
      (await isRecordVisible(entity, 'read', record, operation)) &&
      (await isFieldVisible(entity, field, record, operation));
    if (visible) return true;
  }
  return false;
}

/**
 * The error for a deletion that references refuse. It names a resource only if the caller sees one of its referring records, and never a
 * number: the error must not reveal other records.
 */
export async function createRestrictedError(
  context: EntityContext,
  restricting: readonly RestrictingRecords[],
  operation: OperationContext,
): Promise<ApiError> {
  const names = new Set<string>();
  for (const one of restricting) {
    if (!names.has(one.resource) && (await seesReference(context, one, operation))) names.add(one.resource);
  }
  if (names.size === 0) return new ApiError('CONFLICT', GENERAL);
  const listed = [...names].map((name) => `"${name}"`).join(' and ');
  return new ApiError('CONFLICT', `Records of ${listed} refer to this record, so it cannot be deleted`);
}

/** The error for a deletion that a foreign key refused: a record that refers to the deleted one was written at the same time. */
export function createForeignKeyConflict(cause: unknown): ApiError {
  return new ApiError('CONFLICT', GENERAL, { cause });
}
