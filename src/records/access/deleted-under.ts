import { isEmailVerified } from '../../declare/actor.ts';
import type { StoredRecord } from '../../declare/host.ts';
import { allowsAction, allowsEveryRecord, type CompiledPolicy, type Viewer } from '../../declare/policy.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Entity } from '../context.ts';
import type { DeletedUnderCondition, ListCondition, ListQuery } from '../query/list-query.ts';
import { policyFilterConditions } from '../query/scope.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { storedDeletionPrivilegesOf } from '../store/codec.ts';
import { policyConditionsForWrite } from './authorize.ts';
import { createPolicyArguments, type OperationContext } from './operation-context.ts';
import { createActionErrorHandler } from './rule-errors.ts';

/**
 * Every viewer that the delete policy allows may undo a deletion with one of these privileges: ownership, or a policy that is public or
 * allows every signed-in or every verified user.
 */
const RESTORABLE_BY_POLICY = ['owner', 'anyone'];
/** Privileges of deletions that a mere owner cannot undo: a policy function, or code with system privilege. */
const NOT_RESTORABLE_BY_OWNER = ['function', 'system'];

const formatRolePrivilege = (role: string) => `role:${role}`;

/**
 * The privileges under which a viewer other than the owner deletes a record. The archive stores these privileges, so that owners cannot
 * undo moderation.
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

/**
 * The conditions of a list of deleted records: only records that the caller may restore.
 *
 * @throws ApiError UNAUTHORIZED; FORBIDDEN if the caller may restore no records, or only records that a function decides on one by one
 */
export async function policyConditionsForDeletedList(
  resource: CompiledResource,
  deleted: ListQuery['deleted'],
  operation: OperationContext,
): Promise<ListCondition[]> {
  if (deleted === undefined || operation.system) return [];
  const allowed = await policyConditionsForWrite(resource, 'delete', operation);
  if (allowed === undefined) throw new ApiError('FORBIDDEN');
  const restorable = [...allowed, restorableCondition(resource.policies.delete, operation.user)];
  if (deleted === 'only') return restorable;
  return [{ any: [{ field: 'deletedAt', op: 'exists', value: false }, { every: restorable }] }];
}
