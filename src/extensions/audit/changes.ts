import { isDeepStrictEqual } from 'node:util';
import type { FieldSpec, Fields } from '../../declare/field.ts';
import type { ResourceGateway, StoredRecord } from '../../declare/host.ts';
import type { OutboxRow } from '../../platform/outbox/table.ts';
import { fieldTypeOf } from '../../records/fields/field-type.ts';
import type { Changes, FieldChange } from './entry.ts';
import { withoutPersonal } from './mask.ts';

/** Whether the values of a field are for nobody's eyes. */
function isSecret({ hidden, writeOnly, encrypted }: FieldSpec): boolean {
  return hidden === true || writeOnly === true || encrypted === true;
}

/** What became of a field; undefined: nothing. Without `before` it was made, without `after` removed. */
function changeOf(
  name: string,
  spec: FieldSpec,
  before: StoredRecord | undefined,
  after: StoredRecord | undefined,
): FieldChange | undefined {
  const [from, to] = [before?.[name] ?? null, after?.[name] ?? null];
  if (isDeepStrictEqual(from, to)) return undefined;
  if (isSecret(spec)) return { changed: true };
  return {
    ...(before !== undefined && { from: withoutPersonal(name, spec, from) }),
    ...(after !== undefined && { to: withoutPersonal(name, spec, to) }),
  };
}

/**
 * What an event says of its record, by field: only what changed. The values of secrets are never among it.
 *
 * @param personal fields that are personal whatever they are named
 */
export function changesOf(
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
      : changeOf(field, personal.has(field) ? { ...spec, pii: true } : spec, before, after);
    if (change) changes[field] = change;
  }
  return changes;
}
