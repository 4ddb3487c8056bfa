import type { StoredRecord } from '../../declare/host.ts';
import { allowsEveryRecord, type CompiledPolicy, type Viewer } from '../../declare/policy.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { allowsAction } from '../../rules/allows-action.ts';
import type { Condition } from '../query/list-query.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { createActionErrorHandler } from '../schema/rule-errors.ts';
import type { Store } from '../store/store.ts';
import { createPolicyArguments, type ResolvedViewContext } from './operation-context.ts';
import { policyFilterConditions, scopeConditions } from './scope.ts';
import { isOwner } from './visibility.ts';

/** Whether a policy requires a signed-in user for every record. */
export function requiresUser(policy: CompiledPolicy): boolean {
  return !policy.public && policy.functions.length === 0;
}

/** The error for a caller that may not use a route without a record: 401 if the caller is signed out, else 403. */
function accessError(viewContext: ResolvedViewContext): ApiError {
  return new ApiError(viewContext.user === undefined ? 'UNAUTHORIZED' : 'FORBIDDEN');
}

/**
 * Checks the policy of a create, or of another route without a record. On create, `owner` allows every signed-in user.
 *
 * @param onError called with the error of a policy function that throws. If `onError` returns, the function allows nothing
 * @throws ApiError UNAUTHORIZED or FORBIDDEN
 */
export async function authorizeCollection(
  policy: CompiledPolicy,
  action: string,
  viewContext: ResolvedViewContext,
  onError: (error: unknown) => void,
): Promise<void> {
  const args = createPolicyArguments(viewContext, action, undefined);
  if (!(await allowsAction(policy, args, action === 'create', onError))) throw accessError(viewContext);
}

/** The conditions that the list policy puts on a list; undefined if it allows the viewer no record. */
export async function listPolicyConditions(
  resource: CompiledResource,
  viewContext: ResolvedViewContext,
): Promise<Condition[] | undefined> {
  const policy = resource.policies.list;
  const args = createPolicyArguments(viewContext, 'list', undefined);
  const alternatives: Condition[] = [];
  const collectFilter = (filter: object) => {
    alternatives.push({ every: policyFilterConditions(resource, filter) });
    return false;
  };
  if (await allowsAction(policy, args, false, createActionErrorHandler(resource, 'list', args), collectFilter))
    return [];
  if (policy.owner && viewContext.user !== undefined)
    alternatives.push({ field: resource.ownerField!, op: 'eq', value: viewContext.user.id });
  if (alternatives.length === 0) return undefined;
  return alternatives.length === 1 ? alternatives : [{ any: alternatives }];
}

/**
 * The conditions that the policy puts on a list. `owner` and filters of functions narrow the list down rather than reject it.
 *
 * @throws ApiError UNAUTHORIZED or FORBIDDEN
 */
export async function policyConditionsForList(
  resource: CompiledResource,
  viewContext: ResolvedViewContext,
): Promise<Condition[]> {
  const conditions = await listPolicyConditions(resource, viewContext);
  if (conditions === undefined) throw accessError(viewContext);
  return conditions;
}

/**
 * Loads the record of an item route and checks the policy of `action`. Fails with 401 if a user is required, 404 if the record does not
 * exist or may not be read, and 403 if it may be read but not acted on. A signed-out caller gets the same 401 for a missing record and for
 * a record that a policy function refuses: the two are indistinguishable.
 *
 * @param policy the policy of the action; the read policy decides between 403 and 404
 */
export async function loadAuthorizedRecord(
  resource: CompiledResource,
  store: Store,
  id: string,
  action: string,
  policy: CompiledPolicy,
  viewContext: ResolvedViewContext,
): Promise<StoredRecord> {
  if (viewContext.user === undefined && requiresUser(policy)) throw new ApiError('UNAUTHORIZED');
  let record: StoredRecord | undefined;
  if (isId(id)) {
    const scope = scopeConditions(resource, viewContext);
    record = await store.read(id, scope instanceof Promise ? await scope : scope);
  }
  return authorizeLoadedRecord(resource, store, record, action, policy, viewContext);
}

/**
 * Checks the policy of `action` for a record that was loaded within the scope filter, with the errors of `loadAuthorizedRecord`.
 *
 * @param record undefined if no such record exists in the scope of the viewer
 */
export async function authorizeLoadedRecord(
  resource: CompiledResource,
  store: Pick<Store, 'meets'>,
  record: StoredRecord | undefined,
  action: string,
  policy: CompiledPolicy,
  viewContext: ResolvedViewContext,
): Promise<StoredRecord> {
  if (viewContext.user === undefined && requiresUser(policy)) throw new ApiError('UNAUTHORIZED');
  const missing = viewContext.user === undefined && !policy.public ? 'UNAUTHORIZED' : 'NOT_FOUND';
  if (record === undefined) throw new ApiError(missing);
  const args = createPolicyArguments(viewContext, action, record);
  const own = isOwner(resource, record, viewContext);
  const found = record;
  const meetsFilter = (filter: object) => store.meets(policyFilterConditions(resource, filter), found);
  const mayRead = () =>
    allowsAction(
      resource.policies.read,
      { ...args, action: 'read' },
      own,
      createActionErrorHandler(resource, 'read', args),
      meetsFilter,
    );
  if (await allowsAction(policy, args, own, createActionErrorHandler(resource, action, args), meetsFilter)) {
    // Updates and deletes also require read access: otherwise their responses would reveal that a hidden record exists. Custom routes check
    // only their own policy.
    if ((action !== 'update' && action !== 'delete') || (await mayRead())) return record;
    throw new ApiError(missing);
  }
  if (viewContext.user === undefined) throw new ApiError('UNAUTHORIZED');
  if (action !== 'read' && (await mayRead())) throw new ApiError('FORBIDDEN');
  throw new ApiError('NOT_FOUND');
}

/** Whether this viewer may read every record that the policy lets them change, judging only by roles and ownership. */
function mayReadAllWritable(read: CompiledPolicy, policy: CompiledPolicy, viewer: Viewer | undefined): boolean {
  return allowsEveryRecord(read, viewer) || (read.owner && !allowsEveryRecord(policy, viewer));
}

/**
 * The conditions for a write without loading the record first; undefined if a function in the policy needs the record.
 *
 * @throws ApiError UNAUTHORIZED if a user is required
 */
export async function policyConditionsForWrite(
  resource: CompiledResource,
  action: 'update' | 'delete',
  viewContext: ResolvedViewContext,
): Promise<Condition[] | undefined> {
  const policy = resource.policies[action];
  if (viewContext.user === undefined && requiresUser(policy)) throw new ApiError('UNAUTHORIZED');
  const given = scopeConditions(resource, viewContext);
  const scope = given instanceof Promise ? await given : given;
  if (!mayReadAllWritable(resource.policies.read, policy, viewContext.user)) return undefined;
  if (allowsEveryRecord(policy, viewContext.user)) return scope;
  if (policy.functions.length > 0 || !policy.owner || viewContext.user === undefined) return undefined;
  return [...scope, { field: resource.ownerField!, op: 'eq', value: viewContext.user.id }];
}
