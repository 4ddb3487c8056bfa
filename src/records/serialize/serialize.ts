import type { StoredRecord } from '../../declare/host.ts';
import { allows, allowsEveryRecord } from '../../declare/policy.ts';
import { policyArguments, type ResolvedViewContext } from '../access/operation-context.ts';
import { hideOnError, visibilityRule } from '../access/rule-errors.ts';
import { matches } from '../query/match.ts';
import { scopeConditions } from '../query/scope.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';

/** What leaves the system of a record. */
export type SerializedRecord = Record<string, unknown>;

/** Whether the viewer owns the record. */
export function owns(
  resource: CompiledResource,
  record: StoredRecord | undefined,
  viewContext: Pick<ResolvedViewContext, 'user'>,
): boolean {
  if (viewContext.user === undefined || resource.ownerField === undefined) return false;
  return record?.[resource.ownerField] === viewContext.user.id;
}

/**
 * Shows records to a viewer: hidden and write-only fields never, fields with `visibleTo` where they match. The one way by
 * which a record's fields leave the system.
 *
 * @param selected the fields to show; undefined for all that may be seen
 */
export async function serializeFields(
  resource: CompiledResource,
  records: readonly StoredRecord[],
  viewContext: ResolvedViewContext,
  selected?: ReadonlySet<string>,
): Promise<SerializedRecord[]> {
  const wanted = resource.fields.filter(
    (field) => !field.secret && (selected === undefined || selected.has(field.name)),
  );
  // Decided once per viewer where the record does not matter; only the rest is asked per record.
  const plan = wanted.map((field) => ({
    field,
    always: field.visibleTo === undefined || allowsEveryRecord(field.visibleTo, viewContext.user),
  }));
  const times = resource.timestamps ? ['createdAt', 'updatedAt'].filter((name) => selected?.has(name) ?? true) : [];
  const tellsDeletion = resource.softDelete && (selected?.has('deletedAt') ?? true);
  const shown: SerializedRecord[] = [];
  for (const record of records) {
    const out: SerializedRecord = { id: record.id };
    for (const { field, always } of plan) {
      const value = record[field.name];
      if (value !== undefined && (always || (await isFieldVisible(resource, field, record, viewContext))))
        out[field.name] = value;
    }
    for (const name of times) out[name] = record[name];
    if (record.deletedAt !== undefined && tellsDeletion) out.deletedAt = record.deletedAt;
    shown.push(out);
  }
  return shown;
}

/** Whether a record is in the scope of a viewer. Without the record, only a resource without a scope filter for them is. */
export async function inScope(
  resource: CompiledResource,
  record: StoredRecord | undefined,
  viewContext: ResolvedViewContext,
): Promise<boolean> {
  const scope = scopeConditions(resource, viewContext, 'visibility');
  const conditions = scope instanceof Promise ? await scope : scope;
  return conditions.length === 0 || (record !== undefined && conditions.every((one) => matches(one, record)));
}

/** Whether a policy lets a viewer see a record: `reference` for one that is expanded inside another record. */
export function isVisible(
  resource: CompiledResource,
  policy: 'read' | 'reference',
  record: StoredRecord | undefined,
  viewContext: ResolvedViewContext,
): Promise<boolean> {
  const args = policyArguments(viewContext, 'read', record);
  return allows(
    resource.policies[policy],
    args,
    owns(resource, record, viewContext),
    visibilityRule(resource, policy, args),
  );
}

/** Whether a viewer may see a field of a record that they may see. */
export async function isFieldVisible(
  resource: CompiledResource,
  field: CompiledField,
  record: StoredRecord,
  viewContext: ResolvedViewContext,
): Promise<boolean> {
  if (field.secret) return false;
  if (field.visibleTo === undefined) return true;
  const rule = { resource: resource.name, rule: 'visibleTo', field: field.name, record: record.id };
  const onError = hideOnError(resource.reportRuleError, rule, viewContext.req);
  return allows(
    field.visibleTo,
    policyArguments(viewContext, 'read', record),
    owns(resource, record, viewContext),
    onError,
  );
}
