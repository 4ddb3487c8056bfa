import { isDeepStrictEqual } from 'node:util';
import {
  type FieldSpec,
  type Fields,
  fieldTypeOf,
  type OutboxRow,
  type ResourceGateway,
  type StoredRecord,
} from '../../../extension/index.ts';
import type { Changes, FieldChange } from '../trail/entry.ts';
import { maskPersonalValues } from './mask.ts';

/** Returns whether the values of a field must never be recorded. */
function isSecretField({ hidden, writeOnly, encrypted }: FieldSpec): boolean {
  return hidden === true || writeOnly === true || encrypted === true;
}

/** Returns the change of a field; undefined if its value stayed the same. No `before` means a new record, no `after` a deleted one. */
function computeFieldChange(
  name: string,
  spec: FieldSpec,
  before: StoredRecord | undefined,
  after: StoredRecord | undefined,
): FieldChange | undefined {
  const [from, to] = [before?.[name] ?? null, after?.[name] ?? null];
  if (isDeepStrictEqual(from, to)) return undefined;
  if (isSecretField(spec)) return { changed: true };
  return {
    ...(before !== undefined && { from: maskPersonalValues(name, spec, from) }),
    ...(after !== undefined && { to: maskPersonalValues(name, spec, to) }),
  };
}

/**
 * Returns the changed fields of an event's record. Values of secret fields are never included.
 *
 * @param personal fields that are personal regardless of their name
 */
export function computeRecordChanges(
  gateway: ResourceGateway,
  { name, payload }: OutboxRow,
  personal: ReadonlySet<string>,
): Changes {
  const record = gateway.fromOutbox(payload.record as Record<string, unknown>);
  const previous = payload.previous && gateway.fromOutbox(payload.previous as Record<string, unknown>);
  const isGone = name.endsWith('.deleted');
  const [before, after] = isGone ? [record, undefined] : [previous as StoredRecord | undefined, record];
  const passwords = (payload.passwords ?? {}) as Record<string, boolean>;
  const changes: Changes = {};
  for (const [field, { spec }] of Object.entries(gateway.declaration.fields as Fields)) {
    const change = fieldTypeOf(spec).concealed
      ? passwords[field] && ({ changed: true } as const)
      : computeFieldChange(field, personal.has(field) ? { ...spec, pii: true } : spec, before, after);
    if (change) changes[field] = change;
  }
  return changes;
}
