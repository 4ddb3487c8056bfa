import type { EncryptedPlace, KeyCount } from './encrypted-place.ts';

/** How many values of a place stand under which key, by column. Reads the head of every ciphertext, in pages. */
export async function countByKey(place: EncryptedPlace): Promise<KeyCount[]> {
  const totals = new Map<string, KeyCount>();
  for (let after: string | undefined = place.first; after !== undefined; ) {
    const page = await place.count(after);
    for (const one of page.counts) {
      const key = `${one.name}\n${one.keyId}`;
      const total = totals.get(key);
      if (total === undefined) totals.set(key, one);
      else total.count += one.count;
    }
    after = page.last;
  }
  return [...totals.values()];
}
