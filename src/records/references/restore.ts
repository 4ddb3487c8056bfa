import type { StoredRecord } from '../../declare/host.ts';
import { quoteIdentifier } from '../../platform/postgres/identifiers.ts';
import type { OperationContext } from '../access/operation-context.ts';
import type { RecordsContext } from '../context.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import { archiveTable } from '../schema/table-names.ts';
import { assertNoMissingReferences, findMissingReferences } from './check-references.ts';

/** Whether records of a resource may refer to records that were deleted while the records themselves were deleted. */
export function mayRestoreDanglingReferences({ checkedReferences }: CompiledResource): boolean {
  return checkedReferences.some(({ spec }) => spec.onDelete !== undefined);
}

function isCleared({ spec }: CompiledField): boolean {
  return spec.onDelete === 'setNull' || spec.onDelete === 'remove';
}

/**
 * Prepares the restore of a deleted record: references to records that were deleted meanwhile are cleared if they would have been cleared by
 * that deletion.
 *
 * @param context in the transaction of the restore
 * @throws ApiError VALIDATION_ERROR naming the fields with other references to deleted records
 */
export async function releaseReferencesOfArchived(
  context: RecordsContext,
  resource: CompiledResource,
  record: StoredRecord,
  operation: OperationContext,
): Promise<void> {
  const archived = { values: record, isChosenByCaller: () => false };
  const [found] = await findMissingReferences(context, resource, [archived], operation);
  const missing = found!.filter(({ field }) => field.spec.onDelete !== undefined);
  const kept = missing.filter(({ field }) => !isCleared(field)).map((one) => ({ ...one, byCaller: true }));
  assertNoMissingReferences(resource, kept, operation);
  const byField = [...Map.groupBy(missing, ({ field }) => field)];
  if (byField.length === 0) return;
  const sets = byField.map(([{ column }], i) => `${quoteIdentifier(column)} = $${i + 2}`);
  const values = byField.map(([field, gone]) => {
    if (field.spec.inner === undefined) return null;
    const ids = new Set(gone.map(({ id }) => id));
    return (record[field.name] as string[]).filter((id) => !ids.has(id));
  });
  const table = quoteIdentifier(archiveTable(resource.table));
  await context.database.write({
    text: `update ${table} set ${sets.join(', ')} where "id" = $1`,
    values: [record.id, ...values],
  });
}
