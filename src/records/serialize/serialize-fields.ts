import type { StoredRecord } from '../../declare/host.ts';
import { allowsEveryRecord } from '../../declare/policy.ts';
import type { ResolvedViewContext } from '../access/operation-context.ts';
import { type CheckedResource, isFieldVisible } from '../access/visibility.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';

/** A stored record, serialized for one viewer. */
export type SerializedRecord = Record<string, unknown>;

// Rules that depend on related records are checked together in one statement. Rules that call services make calls of their own.
const CHECKS_AT_ONCE = 50;

/** A field that a viewer may see on at least some records. */
interface PlannedField {
  field: CompiledField;
  /** Whether the viewer sees the field on every record; otherwise `isFieldVisible` decides for each record. */
  always: boolean;
}

/**
 * The fields that a viewer may see: no secret fields, and fields with `visibleTo` only if that policy can match. Everything that does not
 * depend on the record is decided once per viewer.
 */
function findPossiblyVisibleFields(
  resource: CompiledResource,
  viewContext: Pick<ResolvedViewContext, 'user'>,
): PlannedField[] {
  return resource.fields
    .filter(({ secret }) => !secret)
    .map((field) => ({
      field,
      always: field.visibleTo === undefined || allowsEveryRecord(field.visibleTo, viewContext.user),
    }));
}

/**
 * Finds the fields that the viewer sees in each of the records, of those that they do not see in every record. Undefined if there are none.
 */
async function findConditionalFields(
  entity: CheckedResource,
  plan: readonly PlannedField[],
  records: readonly StoredRecord[],
  viewContext: ResolvedViewContext,
): Promise<ReadonlySet<CompiledField>[] | undefined> {
  const conditional = plan.flatMap(({ field, always }) => (always ? [] : [field]));
  if (conditional.length === 0) return undefined;
  const findIn = async (record: StoredRecord) => {
    const held = conditional.filter(({ name }) => record[name] !== undefined);
    const visible = await Promise.all(held.map((field) => isFieldVisible(entity, field, record, viewContext)));
    return new Set(held.filter((_, i) => visible[i]));
  };
  const found: ReadonlySet<CompiledField>[] = [];
  for (let at = 0; at < records.length; at += CHECKS_AT_ONCE)
    found.push(...(await Promise.all(records.slice(at, at + CHECKS_AT_ONCE).map(findIn))));
  return found;
}

/**
 * Serializes records for a viewer, without expanding references. No other code copies a record's fields into output that leaves the system.
 *
 * @param selected the fields to serialize; undefined for all visible ones
 */
export async function serializeFields(
  entity: CheckedResource,
  records: readonly StoredRecord[],
  viewContext: ResolvedViewContext,
  selected?: ReadonlySet<string>,
): Promise<SerializedRecord[]> {
  const { resource } = entity;
  const planned = findPossiblyVisibleFields(resource, viewContext);
  const plan = selected === undefined ? planned : planned.filter(({ field }) => selected.has(field.name));
  const times = resource.timestamps ? ['createdAt', 'updatedAt'].filter((name) => selected?.has(name) ?? true) : [];
  const withDeletedAt = resource.softDelete && (selected?.has('deletedAt') ?? true);
  const conditional = await findConditionalFields(entity, plan, records, viewContext);
  const serialized: SerializedRecord[] = [];
  for (const [i, record] of records.entries()) {
    const out: SerializedRecord = { id: record.id };
    for (const { field, always } of plan) {
      const value = record[field.name];
      if (value !== undefined && (always || conditional![i]!.has(field)))
        // The URL of a file works only while its record is not deleted.
        out[field.name] =
          field.toOutput === undefined || record.deletedAt !== undefined ? value : field.toOutput(value);
    }
    for (const name of times) out[name] = record[name];
    if (record.deletedAt !== undefined && withDeletedAt) out.deletedAt = record.deletedAt;
    serialized.push(out);
  }
  return serialized;
}

/**
 * Creates the function that returns which of these fields of a record a viewer sees. Does not check whether the viewer may read the record.
 */
export function createVisibleFieldsFinder(
  entity: CheckedResource,
  names: ReadonlySet<string>,
  viewContext: ResolvedViewContext,
): (record: StoredRecord) => Promise<ReadonlySet<string>> {
  const plan = findPossiblyVisibleFields(entity.resource, viewContext).filter(({ field }) => names.has(field.name));
  return async (record) => {
    const visible = new Set<string>();
    for (const { field, always } of plan)
      if (always || (await isFieldVisible(entity, field, record, viewContext))) visible.add(field.name);
    return visible;
  };
}
