import type { StoredRecord } from '../../declare/host.ts';
import type { Looker } from '../../records/acting.ts';
import type { Records } from '../../records/index.ts';
import { present } from '../../records/populate.ts';
import { resourceOf } from '../../records/stored.ts';

// Deeper than any honest answer. A record below it still leaves its concealed fields out when it is written as JSON.
const DEPTH = 16;

/**
 * Serialises the stored records in a handler's answer for the viewer, wherever they stand in it: alone, in a list, in an
 * object. Whatever else is in the answer stays as it is.
 */
export async function presentRecords(
  records: Records,
  value: unknown,
  looking: Looker,
  depth = DEPTH,
): Promise<unknown> {
  if (typeof value !== 'object' || value === null || depth === 0) return value;
  const name = resourceOf(value);
  if (name !== undefined) return (await presentAll(records, name, [value as StoredRecord], looking))[0];
  if (Array.isArray(value)) {
    const first = resourceOf(value[0]);
    // The common list is shown with one query per reference field; a mixed one record by record.
    if (first !== undefined && value.every((item) => resourceOf(item) === first)) {
      return presentAll(records, first, value as StoredRecord[], looking);
    }
    return Promise.all(value.map((item) => presentRecords(records, item, looking, depth - 1)));
  }
  // A date, a buffer: they say themselves how they are written.
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return value;
  const entries = Object.entries(value).map(
    async ([key, inner]) => [key, await presentRecords(records, inner, looking, depth - 1)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

function presentAll(records: Records, name: string, list: readonly StoredRecord[], looking: Looker) {
  return present(records.context, records.entities.get(name)!.resource, list, looking);
}
