import type { StoredRecord } from '../../declare/host.ts';
import { allows } from '../../declare/policy.ts';
import { matches } from '../query/match.ts';
import { scopeConditions } from '../query/scope.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import { policyArguments, type ResolvedViewContext } from './operation-context.ts';
import { hideOnError, visibilityErrorHandler } from './rule-errors.ts';

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
  resource: CompiledResource,
  record: StoredRecord | undefined,
  viewContext: ResolvedViewContext,
): Promise<boolean> {
  const scope = scopeConditions(resource, viewContext, 'visibility');
  const conditions = scope instanceof Promise ? await scope : scope;
  return conditions.length === 0 || (record !== undefined && conditions.every((one) => matches(one, record)));
}

/** Whether a policy lets the viewer see a record. `reference` is the policy for a record that is expanded inside another one. */
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
    isOwner(resource, record, viewContext),
    visibilityErrorHandler(resource, policy, args),
  );
}

/** Whether the viewer may see a field of a record that they may read. */
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
    isOwner(resource, record, viewContext),
    onError,
  );
}
