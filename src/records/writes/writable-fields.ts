import type { StoredRecord } from '../../declare/host.ts';
import { allowsEveryRecord } from '../../declare/policy.ts';
import { allowsAction, rethrow } from '../../rules/allows-action.ts';
import { createPolicyArguments, type OperationContext } from '../access/operation-context.ts';
import { policyFilterConditions } from '../access/scope.ts';
import { isOwner } from '../access/visibility.ts';
import type { Condition } from '../query/list-query.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import { runProjectCode } from '../schema/rule-errors.ts';

const NOT_ALLOWED = 'You are not allowed to set this field';
const IS_IMMUTABLE = 'Cannot be changed after creation';
const PASSWORD_UPDATE = 'Use POST /api/auth/password (or the reset flow) to change passwords';

/** A write that is being validated. */
export interface FieldWrite {
  resource: CompiledResource;
  operation: OperationContext;
  updating: boolean;
  /** Whether a record meets the filter that a function of `writableBy` returned; left out: no record does. */
  meets?: ((conditions: readonly Condition[], record: StoredRecord) => boolean | Promise<boolean>) | undefined;
  /** The record before an update; undefined on create, and if validating the update does not need the record. */
  before: StoredRecord | undefined;
}

/** Whether `writableBy` lets the field be set, judging only by roles and ownership. The creator of a record counts as its owner. */
function isWriteAllowedByRoleOrOwnership(
  { writableBy }: CompiledField,
  { resource, operation, updating, before }: FieldWrite,
): boolean {
  if (operation.system || writableBy === undefined || allowsEveryRecord(writableBy, operation.user)) return true;
  return writableBy.owner && (updating ? isOwner(resource, before, operation) : operation.user !== undefined);
}

/** Whether only a function of `writableBy` can decide if the field may be set. */
export function needsWritableByFunction(field: CompiledField, write: FieldWrite): boolean {
  return !isWriteAllowedByRoleOrOwnership(field, write) && field.writableBy!.functions.length > 0;
}

/** The reason why a client may not send this field at all, or undefined. Functions are not called. */
export function findWriteRefusal(field: CompiledField, write: FieldWrite): string | undefined {
  const { operation, updating, resource } = write;
  const { spec } = field;
  if (updating && field.type.concealed) return PASSWORD_UPDATE;
  if (operation.system) return undefined;
  if (spec.hidden || spec.readOnly || field.name === resource.ownerField) return 'Is read-only';
  if (updating && spec.immutable) return IS_IMMUTABLE;
  return isWriteAllowedByRoleOrOwnership(field, write) || needsWritableByFunction(field, write)
    ? undefined
    : NOT_ALLOWED;
}

/**
 * The reason why an update may not set the organisation of a record, or undefined. A record never moves to another organisation, not even
 * by code. Code may repeat the record's organisation, and may set the organisation of a record without one.
 */
export function findMoveRefusal(
  { name, spec }: CompiledField,
  value: unknown,
  { updating, before }: FieldWrite,
): string | undefined {
  if (!updating || !spec.tenant) return undefined;
  const organisation = before?.[name] ?? undefined;
  return organisation === undefined || value === organisation ? undefined : IS_IMMUTABLE;
}

/**
 * The reason why the functions of `writableBy` do not let a field be set, or undefined.
 *
 * @param doc the record to decide on: as stored, or as a create would store it
 */
export async function findWriteRefusalByFunction(
  field: CompiledField,
  { resource, operation, updating, meets }: FieldWrite,
  doc: Record<string, unknown> | undefined,
): Promise<string | undefined> {
  const args = createPolicyArguments(operation, updating ? 'update' : 'create', doc);
  const rule = `writableBy of the field "${field.name}"`;
  const meetsFilter = (filter: object) =>
    meets !== undefined && doc !== undefined && meets(policyFilterConditions(resource, filter), doc as StoredRecord);
  const allowed = await runProjectCode(resource.name, rule, () =>
    allowsAction(field.writableBy!, args, false, rethrow, meetsFilter),
  );
  return allowed ? undefined : NOT_ALLOWED;
}
