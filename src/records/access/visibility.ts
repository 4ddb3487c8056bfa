import type { StoredRecord } from '../../declare/host.ts';
import { allowsAction } from '../../rules/allows-action.ts';
import type { Condition } from '../query/list-query.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import { createHidingErrorHandler, createVisibilityErrorHandler } from '../schema/rule-errors.ts';
import { createPolicyArguments, type ResolvedViewContext } from './operation-context.ts';
import { policyFilterConditions, scopeConditions } from './scope.ts';

/** A resource, and the checks of its records that may need the database. */
export interface CheckedResource {
  resource: CompiledResource;
  store: { meets(conditions: readonly Condition[], record: StoredRecord): boolean | Promise<boolean> };
}

/** Whether the viewer owns the record. */
export function isOwner(
  resource: CompiledResource,
  record: StoredRecord | undefined,
  viewContext: Pick<ResolvedViewContext, 'user'>,
): boolean {
  if (viewContext.user === undefined || resource.ownerField === undefined) return false;
  return record?.[resource.ownerField] === viewContext.user.id;
}

/** Whether a record is in the viewer's scope. An unknown record is in scope only if no scope filter applies to the viewer. */
export async function isInScope(
  { resource, store }: CheckedResource,
  record: StoredRecord | undefined,
  viewContext: ResolvedViewContext,
): Promise<boolean> {
  const scope = scopeConditions(resource, viewContext, 'visibility');
  const conditions = scope instanceof Promise ? await scope : scope;
  return conditions.length === 0 || (record !== undefined && store.meets(conditions, record));
}

/** Whether a policy lets the viewer see a record. `reference` is the policy for a record that is expanded inside another one. */
export function isRecordVisible(
  { resource, store }: CheckedResource,
  policy: 'read' | 'reference',
  record: StoredRecord | undefined,
  viewContext: ResolvedViewContext,
): Promise<boolean> {
  const args = createPolicyArguments(viewContext, 'read', record);
  return allowsAction(
    resource.policies[policy],
    args,
    isOwner(resource, record, viewContext),
    createVisibilityErrorHandler(resource, policy, args),
    (filter) => record !== undefined && store.meets(policyFilterConditions(resource, filter), record),
  );
}

/** Whether the viewer may see a field of a record that they may read. */
export async function isFieldVisible(
  { resource, store }: CheckedResource,
  field: CompiledField,
  record: StoredRecord,
  viewContext: ResolvedViewContext,
): Promise<boolean> {
  if (field.secret) return false;
  if (field.visibleTo === undefined) return true;
  const rule = { resource: resource.name, rule: 'visibleTo', field: field.name, record: record.id };
  const onError = createHidingErrorHandler(resource.reportRuleError, rule, viewContext.req);
  return allowsAction(
    field.visibleTo,
    createPolicyArguments(viewContext, 'read', record),
    isOwner(resource, record, viewContext),
    onError,
    (filter) => store.meets(policyFilterConditions(resource, filter), record),
  );
}
