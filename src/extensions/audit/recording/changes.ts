import { isDeepStrictEqual } from 'node:util';
import {
  type FieldSpec,
  type Fields,
  fieldTypeOf,
  type OutboxRow,
  type ResourceGateway,
  type StoredRecord,
} from '../../../extension/index.ts';
import type { Changes, FieldChange } from '../trail/responses.ts';
import { compileMask } from './mask.ts';

/** Returns whether the values of a field must never be recorded. */
function isSecretField({ hidden, writeOnly, encrypted }: FieldSpec): boolean {
  return hidden === true || writeOnly === true || encrypted === true;
}

/** Returns the change of a field from the state before to the state after; undefined if its value stayed the same. */
type DetectChange = (before: StoredRecord | undefined, after: StoredRecord | undefined) => FieldChange | undefined;

/** Compiles the detection of changes of a field. No `before` means a new record, no `after` a deleted one. */
function compileDetection(name: string, spec: FieldSpec): DetectChange {
  const isSecret = isSecretField(spec);
  const mask = compileMask(name, spec);
  return (before, after) => {
    const [from, to] = [before?.[name] ?? null, after?.[name] ?? null];
    if (isDeepStrictEqual(from, to)) return undefined;
    if (isSecret) return { changed: true };
    if (before === undefined) return { to: mask(to) };
    return after === undefined ? { from: mask(from) } : { from: mask(from), to: mask(to) };
  };
}

/** Returns the changed fields of an event's record. Values of secret fields are never included. */
export type ComputeChanges = (row: OutboxRow) => Changes;

/**
 * Compiles the function that computes the changes of a resource's records.
 *
 * @param personal fields that are personal regardless of their name
 */
export function compileChanges(gateway: ResourceGateway, personal: ReadonlySet<string>): ComputeChanges {
  const fields = Object.entries(gateway.declaration.fields as Fields);
  const detections = fields.map(([field, { spec }]): [field: string, detect: DetectChange | undefined] => [
    field,
    // The event only says whether there is a password.
    fieldTypeOf(spec).concealed
      ? undefined
      : compileDetection(field, personal.has(field) ? { ...spec, pii: true } : spec),
  ]);
  return ({ name, payload }) => {
    const record = gateway.fromOutbox(payload.record as Record<string, unknown>);
    const previous = payload.previous && gateway.fromOutbox(payload.previous as Record<string, unknown>);
    const isGone = name.endsWith('.deleted');
    const [before, after] = isGone ? [record, undefined] : [previous as StoredRecord | undefined, record];
    const passwords = (payload.passwords ?? {}) as Record<string, boolean>;
    const changes: Changes = {};
    for (const [field, detect] of detections) {
      const change = detect === undefined ? passwords[field] && ({ changed: true } as const) : detect(before, after);
      if (change) changes[field] = change;
    }
    return changes;
  };
}
