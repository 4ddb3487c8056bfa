import type { StoredRecord } from '../../declare/host.ts';
import { allowsEveryRecord } from '../../declare/policy.ts';
import type { OperationContext } from '../access/operation-context.ts';
import { type CheckedResource, isFieldVisible } from '../access/visibility.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import { sentFieldsOf } from './validate.ts';

/** The fields of an update that the caller cannot see in every record. */
function restrictedFields(
  resource: CompiledResource,
  input: unknown,
  { system, user }: OperationContext,
): CompiledField[] {
  if (system) return [];
  return sentFieldsOf(resource, input).filter(
    ({ secret, visibleTo }) => secret || (visibleTo !== undefined && !allowsEveryRecord(visibleTo, user)),
  );
}

const isNeverVisible = ({ secret, visibleTo }: CompiledField) =>
  secret || !(visibleTo!.owner || visibleTo!.functions.length > 0);

/** Whether `setsUnseenField` needs the stored record. */
export function needsRecordForVisibility(
  resource: CompiledResource,
  input: unknown,
  operation: OperationContext,
): boolean {
  const fields = restrictedFields(resource, input, operation);
  return fields.length > 0 && !fields.some(isNeverVisible);
}

/**
 * Whether the caller of an update sets a field that they cannot see. Such an update counts as a change even if it changes nothing: otherwise the caller would
 * learn whether the field has that value.
 *
 * @param before the record before the update; required if `needsRecordForVisibility` returns true
 */
export async function setsUnseenField(
  checked: CheckedResource,
  input: unknown,
  before: StoredRecord | undefined,
  operation: OperationContext,
): Promise<boolean> {
  const fields = restrictedFields(checked.resource, input, operation);
  if (fields.some(isNeverVisible)) return true;
  for (const field of fields) if (!(await isFieldVisible(checked, field, before!, operation))) return true;
  return false;
}
