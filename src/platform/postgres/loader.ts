/**
 * Gathers the look-ups of one turn of the event loop into one: requests that came in together ask together. Equal keys are
 * asked for once. Nothing is kept: the next turn asks again.
 *
 * @param load finds what there is for some keys, in any order
 * @param keyOf the key that something found belongs to
 * @returns finds one; undefined when there is none
 */
export function createLoader<Found>(
  load: (keys: string[]) => Promise<Found[]>,
  keyOf: (found: Found) => string,
): (key: string) => Promise<Found | undefined> {
  let gathered: Map<string, PromiseWithResolvers<Found | undefined>> | undefined;

  async function flush(asked: Map<string, PromiseWithResolvers<Found | undefined>>): Promise<void> {
    gathered = undefined;
    try {
      for (const found of await load([...asked.keys()])) asked.get(keyOf(found))?.resolve(found);
      for (const waiting of asked.values()) waiting.resolve(undefined);
    } catch (error) {
      for (const waiting of asked.values()) waiting.reject(error);
    }
  }

  return (key) => {
    if (gathered === undefined) {
      gathered = new Map();
      setImmediate(flush, gathered);
    }
    let waiting = gathered.get(key);
    if (waiting === undefined) {
      waiting = Promise.withResolvers();
      gathered.set(key, waiting);
    }
    return waiting.promise;
  };
}
