/**
 * Combines the look-ups of one turn of the event loop, for example from requests that arrived together, into one query. Equal keys are
 * looked up once. Nothing is cached: the next turn queries again.
 *
 * @param load finds the entries for some keys, in any order
 * @param keyOf the key of an entry
 * @returns a function that finds one entry; undefined if there is none
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
