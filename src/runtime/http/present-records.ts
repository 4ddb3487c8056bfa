import type { StoredRecord } from '../../declare/host.ts';
import type { ResolvedViewContext } from '../../records/access/operation-context.ts';
import type { Records } from '../../records/index.ts';
import { serializeRecords } from '../../records/serialize/populate.ts';
import { resourceOf } from '../../records/store/codec.ts';

// Deeper than any honest answer. A record below it still leaves its concealed fields out when it is written as JSON.
const DEPTH = 16;

type Holder = Record<PropertyKey, unknown>;

/** Where a record stands in an answer. */
interface Place {
  holder: Holder;
  key: PropertyKey;
  record: StoredRecord;
}

/** Puts a copy of a value into its place, and notes by resource where in it records stand. */
function copyInto(holder: Holder, key: PropertyKey, value: unknown, places: Map<string, Place[]>, depth: number): void {
  holder[key] = value;
  if (typeof value !== 'object' || value === null || depth === 0) return;
  const name = resourceOf(value);
  if (name !== undefined) {
    const list = places.get(name);
    const place = { holder, key, record: value as StoredRecord };
    if (list === undefined) places.set(name, [place]);
    else list.push(place);
  } else if (Array.isArray(value)) {
    const copy = [...value];
    holder[key] = copy;
    for (const [i, item] of value.entries()) copyInto(copy as unknown as Holder, i, item, places, depth - 1);
  } else if (typeof (value as { toJSON?: unknown }).toJSON !== 'function') {
    // Without a prototype, on which a key `__proto__` would be a setter. What has a toJSON (a date) says itself how it is written.
    const copy: Holder = Object.create(null);
    holder[key] = copy;
    for (const [name, inner] of Object.entries(value)) copyInto(copy, name, inner, places, depth - 1);
  }
}

/**
 * Serialises the stored records in a handler's answer for the viewer, wherever they stand in it: alone, in a list, in an
 * object. Whatever else is in the answer stays as it is. Those of one resource cost one query per reference field, together.
 */
export async function serializeResponse(
  records: Records,
  value: unknown,
  viewContext: ResolvedViewContext,
): Promise<unknown> {
  const places = new Map<string, Place[]>();
  const answer: Holder = {};
  copyInto(answer, 'value', value, places, DEPTH);
  await Promise.all(
    [...places].map(async ([name, list]) => {
      const { resource } = records.entities.get(name)!;
      const stored = list.map(({ record }) => record);
      const shown = await serializeRecords(records.context, resource, stored, viewContext);
      for (const [i, { holder, key }] of list.entries()) holder[key] = shown[i];
    }),
  );
  return answer.value;
}
