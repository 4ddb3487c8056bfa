import { isDeepStrictEqual } from 'node:util';
import type { StoredRecord } from '../../declare/host.ts';
import type { CompiledResource } from '../schema/compiled.ts';

/**
 * Whether a record already holds the value that an update gives to an encrypted field.
 *
 * @param value the value in an update; null clears the field
 * @param stored undefined if the record has no value
 */
export function isSameEncryptedValue(value: unknown, stored: unknown): boolean {
  const held = value === null || value === undefined ? undefined : JSON.parse(JSON.stringify(value));
  return isDeepStrictEqual(held, stored);
}

/** Leaves out the encrypted values that the record already has: the ciphertexts of equal values differ, so each would look like a change. */
export function leaveOutSameEncryptedValues(
  { fields }: CompiledResource,
  changes: Record<string, unknown>,
  before: StoredRecord,
): Record<string, unknown> {
  const same = fields.filter(
    (field) =>
      field.spec.encrypted &&
      Object.hasOwn(changes, field.name) &&
      isSameEncryptedValue(changes[field.name], before[field.name]),
  );
  if (same.length === 0) return changes;
  const rest = { ...changes };
  for (const { name } of same) delete rest[name];
  return rest;
}
