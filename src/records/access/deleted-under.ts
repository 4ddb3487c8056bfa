import { isEmailVerified } from '../../declare/actor.ts';
import type { StoredRecord } from '../../declare/host.ts';
import { allowsEveryRecord, type CompiledPolicy, type Viewer } from '../../declare/policy.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { allowsAction } from '../../rules/allows-action.ts';
import type { Condition, DeletedUnderCondition, ListCondition, ListQuery } from '../query/list-query.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { createActionErrorHandler } from '../schema/rule-errors.ts';
import { storedDeletionPrivilegesOf } from '../store/codec.ts';
import type { Entity } from '../store/entity.ts';
import { policyConditionsForWrite } from './authorize.ts';
import { createPolicyArguments, type OperationContext } from './operation-context.ts';
import { policyFilterConditions, scopeConditions } from './scope.ts';

/**
 * Every viewer that the delete policy allows may undo a deletion with one of these privileges: ownership, or a policy that is public or
 * allows every signed-in or every verified user.
 */
const RESTORABLE_BY_POLICY = ['owner', 'anyone'];
/** Privileges of deletions that a mere owner cannot undo: a policy function, or code with system privilege. */
const NOT_RESTORABLE_BY_OWNER = ['function', 'system'];

const formatRolePrivilege = (role: string) => `role:${role}`;

/**
 * The privileges of a viewer who deletes a record of another user. The archive stores these privileges: owners then cannot undo moderation.
 */
export function listPrivilegesThatAllowedDeletion(
  { policies }: CompiledResource,
  { user, system }: OperationContext,
): string[] {
  if (system) return ['system'];
  const policy = policies.delete;
  if (policy.public || (policy.authenticated && user !== undefined)) return ['anyone'];
  if (policy.verified && user !== undefined && isEmailVerified(user)) return ['anyone'];
  const roles = policy.roles.filter((role) => user?.roles?.includes(role));
  return roles.length > 0 ? roles.map(formatRolePrivilege) : ['function'];
}

/**
 * The privileges of the deletions that a viewer may undo.
 *
 * @param others whether the delete policy allows the viewer by more than owning the record
 */
function privilegesThatViewerMayUndo(viewer: Viewer | undefined, others: boolean): string[] {
  return [
    ...RESTORABLE_BY_POLICY,
    ...(others ? NOT_RESTORABLE_BY_OWNER : []),
    ...(viewer?.roles ?? []).map(formatRolePrivilege),
  ];
}

/** Returns the condition that selects the deleted records this viewer may restore. Call it only if the delete policy has no function. */
function restorableCondition(policy: CompiledPolicy, viewer: Viewer | undefined): DeletedUnderCondition {
  return { deletedUnder: privilegesThatViewerMayUndo(viewer, allowsEveryRecord(policy, viewer)) };
}

/**
 * Checks that a viewer whom the delete policy allows may also undo this deletion.
 *
 * @returns the condition to check when the record is restored
 * @throws ApiError FORBIDDEN
 */
export async function authorizeRestore(
  { resource, store }: Entity,
  record: StoredRecord,
  operation: OperationContext,
): Promise<DeletedUnderCondition> {
  const policy = { ...resource.policies.delete, owner: false };
  const args = createPolicyArguments(operation, 'delete', record);
  const onError = createActionErrorHandler(resource, 'delete', args);
  const others = await allowsAction(policy, args, false, onError, (filter) =>
    store.meets(policyFilterConditions(resource, filter), record),
  );
  const allowed = privilegesThatViewerMayUndo(operation.user, others);
  const under = storedDeletionPrivilegesOf(record);
  if (under !== undefined && !under.some((one) => allowed.includes(one))) {
    const roles = under
      .filter((one) => one.startsWith(formatRolePrivilege('')))
      .map((one) => `"${one.slice(formatRolePrivilege('').length)}"`);
    const needs = roles.length === 0 ? 'more than ownership' : `the role ${roles.join(' or ')}`;
    throw new ApiError('FORBIDDEN', `Restoring this record requires ${needs}, because it was not deleted by its owner`);
  }
  return { deletedUnder: allowed };
}

/** The records that a policy allows, as conditions of a query. */
interface AllowedRecords {
  /** Whether the policy allows every record, whether or not the viewer owns it. */
  every: boolean;
  /** Otherwise: conditions; a record must meet at least one. */
  filters: Condition[];
  /** The condition of the viewer's own records, if the policy allows these. */
  own: Condition | undefined;
}

/**
 * Finds the records that a policy allows, including records that its functions select by filters.
 *
 * @returns undefined if a function reads each record to decide
 */
async function findAllowedRecords(
  resource: CompiledResource,
  action: 'read' | 'delete',
  operation: OperationContext,
): Promise<AllowedRecords | undefined> {
  const policy = resource.policies[action];
  const { user } = operation;
  const given = createPolicyArguments(operation, action, undefined);
  let readsRecord = false;
  const args = {
    ...given,
    get doc(): never {
      readsRecord = true;
      throw new Error('the record is unknown');
    },
  };
  const onRuleError = createActionErrorHandler(resource, action, given);
  const onError = (error: unknown) => void (readsRecord || onRuleError(error));
  const filters: Condition[] = [];
  const every = await allowsAction(policy, args, false, onError, (filter) => {
    filters.push({ every: policyFilterConditions(resource, filter) });
    return false;
  });
  if (readsRecord) return undefined;
  const isOwnerAllowed = policy.owner && user !== undefined && resource.ownerField !== undefined;
  const own: Condition | undefined = isOwnerAllowed
    ? { field: resource.ownerField!, op: 'eq', value: user.id }
    : undefined;
  return { every, filters, own };
}

/** The conditions of the deleted records that a viewer may restore; undefined if there are none, or if a function decides about each. */
async function findRestorable(
  resource: CompiledResource,
  operation: OperationContext,
): Promise<ListCondition[] | undefined> {
  const deletable = await findAllowedRecords(resource, 'delete', operation);
  // Like a deletion, a restore requires read access.
  const readable = await findAllowedRecords(resource, 'read', operation);
  if (deletable === undefined || readable === undefined) return undefined;
  const under = (others: boolean) => ({ deletedUnder: privilegesThatViewerMayUndo(operation.user, others) });
  const restorable: ListCondition[] = deletable.every
    ? [under(true)]
    : [
        ...deletable.filters.map((filter) => ({ every: [filter, under(true)] })),
        ...(deletable.own === undefined ? [] : [{ every: [deletable.own, under(false)] }]),
      ];
  const readers = readable.own === undefined ? readable.filters : [...readable.filters, readable.own];
  if (restorable.length === 0 || (!readable.every && readers.length === 0)) return undefined;
  const scope = await scopeConditions(resource, operation);
  return [...scope, { any: restorable }, ...(readable.every ? [] : [{ any: readers }])];
}

/**
 * The conditions of a list of deleted records: only records that the caller may restore.
 *
 * @throws ApiError UNAUTHORIZED; FORBIDDEN if the caller may restore no records, or if a function must decide on each record
 */
export async function policyConditionsForDeletedList(
  resource: CompiledResource,
  deleted: ListQuery['deleted'],
  operation: OperationContext,
): Promise<ListCondition[]> {
  if (deleted === undefined || operation.system) return [];
  const allowed = await policyConditionsForWrite(resource, 'delete', operation);
  const restorable =
    allowed === undefined
      ? await findRestorable(resource, operation)
      : [...allowed, restorableCondition(resource.policies.delete, operation.user)];
  if (restorable === undefined) throw new ApiError('FORBIDDEN');
  if (deleted === 'only') return restorable;
  return [{ any: [{ field: 'deletedAt', op: 'exists', value: false }, { every: restorable }] }];
}
