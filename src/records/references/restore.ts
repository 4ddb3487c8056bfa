import type { StoredRecord } from '../../declare/host.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import type { Referrer } from '../schema/references.ts';
import {
  createArchiveClearingStatement,
  createArchiveLockStatement,
  createArchiveSearchStatement,
} from '../store/archived-rows.ts';
import { MAX_AFFECTED, type ReferrerContext } from './affected-records.ts';
import { setConstraints } from './cascade.ts';
import { assertNoMissingReferences, findMissingReferences, type MissingReference } from './check-references.ts';

/** Deleted records to restore together, with their references to records that do not exist. */
type Restored = Map<string, Map<string, { record: StoredRecord; missing: readonly MissingReference[] }>>;

/** The records that the cascade of a deletion deleted, and that are restored with its target: ids by resource. */
export type CascadedRecords = ReadonlyMap<string, readonly string[]>;

/** The references whose cascade deletes records that an archive keeps. */
function archivingReferrers({ referrers, entities }: ReferrerContext, target: string): Referrer[] {
  return (referrers.get(target) ?? []).filter(
    ({ onDelete, resource }) => onDelete === 'cascade' && entities.get(resource)!.archive !== undefined,
  );
}

/** Whether records of a resource may refer to records that were deleted while the records themselves were deleted. */
function mayRestoreDanglingReferences({ checkedReferences }: CompiledResource): boolean {
  return checkedReferences.some(({ spec }) => spec.onDelete !== undefined);
}

/** Whether the restore of a record may change its references, or restore other records. */
export function needsPreparedRestore(context: ReferrerContext, resource: CompiledResource): boolean {
  return mayRestoreDanglingReferences(resource) || archivingReferrers(context, resource.name).length > 0;
}

function isCleared({ spec }: CompiledField): boolean {
  return spec.onDelete === 'setNull' || spec.onDelete === 'remove';
}

/** The error for a restore that would also have to restore records which cannot be restored. */
export function createRestoreConflict(cause?: unknown): ApiError {
  const message =
    'Records that were deleted with this record cannot be restored: a unique value of theirs is taken, another constraint refuses them, a record to which they refer is missing, or a value is no longer valid';
  return new ApiError('CONFLICT', message, { cause });
}

/** Adds deleted records to those to restore, and finds their missing references: one query. */
async function addRecords(
  context: ReferrerContext,
  name: string,
  records: readonly StoredRecord[],
  restored: Restored,
  operation: OperationContext,
): Promise<void> {
  const { resource } = context.entities.get(name)!;
  const values = records.map((record) => ({ values: record, isChosenByCaller: () => false }));
  const found = await findMissingReferences(context, resource, values, operation);
  const known = restored.get(name) ?? new Map();
  for (const [i, record] of records.entries()) {
    const missing = found[i]!.filter(({ field }) => field.spec.onDelete !== undefined);
    known.set(record.id, { record, missing });
  }
  restored.set(name, known);
}

/** Adds the records that the cascade of the same deletion deleted, level by level. A few statements per level. */
async function addRecordsOfCascade(
  context: ReferrerContext,
  root: { resource: CompiledResource; id: string },
  restored: Restored,
  operation: OperationContext,
): Promise<void> {
  const [locked] = await context.database.write<[string]>(createArchiveLockStatement(root.resource, root.id));
  if (locked === undefined) throw new ApiError('NOT_FOUND');
  let level = new Map<string, Set<string>>([[root.resource.name, new Set([root.id])]]);
  let count = 0;
  while (level.size > 0) {
    const searches = [...level].flatMap(([target, ids]) =>
      archivingReferrers(context, target).map(({ resource: name, field }) => ({
        name,
        search: { resource: context.entities.get(name)!.resource, field, targets: [...ids] },
      })),
    );
    if (searches.length === 0) return;
    const { text, values } = createArchiveSearchStatement(
      searches.map(({ search }) => search),
      locked[0],
      MAX_AFFECTED + 1,
    );
    const rows = await context.database.write<[search: number, id: string]>(context.statement(text, values));
    level = new Map();
    for (const [at, id] of rows) {
      const { name } = searches[at]!;
      if (restored.get(name)?.has(id)) continue;
      level.set(name, (level.get(name) ?? new Set()).add(id));
    }
    for (const [name, ids] of level) {
      count += ids.size;
      if (count > MAX_AFFECTED) {
        const max = MAX_AFFECTED.toLocaleString('en');
        throw new ApiError(
          'CONFLICT',
          `More than ${max} records were deleted with this record, so it cannot be restored`,
        );
      }
      const records = await context.entities.get(name)!.archive!.only.readMany([...ids]);
      await addRecords(context, name, records, restored, operation);
    }
  }
}

/** The missing references of a record that are not restored with it. */
function findDanglingReferences(restored: Restored, missing: readonly MissingReference[]): MissingReference[] {
  return missing.filter(({ field, id }) => !restored.get(field.target!)?.has(id));
}

/** Leaves out records with another `cascade` reference to a missing record: the deletion of that record would have deleted them. */
function leaveOutDeletedByOthers(restored: Restored, rootId: string): void {
  for (let isDone = false; !isDone; ) {
    isDone = true;
    for (const records of restored.values()) {
      for (const [id, { missing }] of records) {
        const isGone = findDanglingReferences(restored, missing).some(({ field }) => field.spec.onDelete === 'cascade');
        if (id === rootId || !isGone) continue;
        records.delete(id);
        isDone = false;
      }
    }
  }
}

/** Clears dangling references in the archive: one statement for each resource. */
async function clearDangling(context: ReferrerContext, restored: Restored): Promise<void> {
  for (const [name, records] of restored) {
    const deleted = new Map<CompiledField, Set<string>>();
    const ids: string[] = [];
    for (const [id, { missing }] of records) {
      const dangling = findDanglingReferences(restored, missing);
      if (dangling.length > 0) ids.push(id);
      for (const one of dangling) deleted.set(one.field, (deleted.get(one.field) ?? new Set()).add(one.id));
    }
    if (ids.length === 0) continue;
    const cleared = [...deleted].map(([field, gone]) => ({ field, deleted: [...gone] }));
    await context.database.write(createArchiveClearingStatement(context.entities.get(name)!.resource, ids, cleared));
  }
}

/**
 * Prepares the restore of a deleted record. Finds the records that the cascade of its deletion deleted with it. Clears references to
 * records that have been deleted since, if that deletion would have cleared them. If it returns records, the foreign keys are then
 * deferred.
 *
 * @param context in the transaction of the restore
 * @throws ApiError VALIDATION_ERROR naming the fields of the record with other references to deleted records; CONFLICT if another record
 *   has such a reference, or if there are too many records; NOT_FOUND if the record is no longer deleted
 */
export async function prepareRestore(
  context: ReferrerContext,
  resource: CompiledResource,
  record: StoredRecord,
  operation: OperationContext,
): Promise<CascadedRecords> {
  const restored: Restored = new Map();
  await addRecords(context, resource.name, [record], restored, operation);
  if (archivingReferrers(context, resource.name).length > 0)
    await addRecordsOfCascade(context, { resource, id: record.id }, restored, operation);
  leaveOutDeletedByOthers(restored, record.id);
  for (const records of restored.values()) {
    for (const [id, { missing }] of records) {
      const kept = findDanglingReferences(restored, missing).filter(({ field }) => !isCleared(field));
      if (id === record.id)
        assertNoMissingReferences(
          resource,
          kept.map((one) => ({ ...one, byCaller: true })),
          operation,
        );
      else if (kept.length > 0) throw createRestoreConflict();
    }
  }
  await clearDangling(context, restored);
  const cascaded = new Map(
    [...restored]
      .map(([name, records]) => [name, [...records.keys()].filter((id) => id !== record.id)] as const)
      .filter(([, ids]) => ids.length > 0),
  );
  if (cascaded.size > 0) await setConstraints(context, resource.name, 'deferred');
  return cascaded;
}
