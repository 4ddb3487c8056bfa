import type { EncryptedPlace, KeyCount } from './encrypted-place.ts';

/** The number of values of a place, by column and key. Reads the head of every ciphertext, in pages. */
export async function countByKey(place: EncryptedPlace): Promise<KeyCount[]> {
  const totals = new Map<string, KeyCount>();
  let stretch = await place.whole();
  while (stretch !== undefined) {
    const page = await place.count(stretch);
    for (const one of page.counts) {
      const key = `${one.name}\n${one.keyId}`;
      const total = totals.get(key);
      if (total === undefined) totals.set(key, one);
      else total.count += one.count;
    }
    stretch = page.at === undefined ? undefined : { ...stretch, after: page.at };
  }
  return [...totals.values()];
}
