/**
 * Combines the look-ups of one turn of the event loop, for example from requests that arrived together, into one query. Equal keys are
 * looked up once. Nothing is cached: the next turn queries again.
 *
 * @param load finds the entries for a batch of keys; returns them in any order
 * @param keyOf returns the key of an entry
 * @returns a function that finds one entry; undefined if there is none
 */
export function createBatchLoader<Entry>(
  load: (keys: string[]) => Promise<Entry[]>,
  keyOf: (entry: Entry) => string,
): (key: string) => Promise<Entry | undefined> {
  let pending: Map<string, PromiseWithResolvers<Entry | undefined>> | undefined;

  async function loadBatch(batch: Map<string, PromiseWithResolvers<Entry | undefined>>): Promise<void> {
    pending = undefined;
    try {
      for (const entry of await load([...batch.keys()])) batch.get(keyOf(entry))?.resolve(entry);
      for (const deferred of batch.values()) deferred.resolve(undefined);
    } catch (error) {
      for (const deferred of batch.values()) deferred.reject(error);
    }
  }

  return (key) => {
    if (pending === undefined) {
      pending = new Map();
      setImmediate(loadBatch, pending);
    }
    let deferred = pending.get(key);
    if (deferred === undefined) {
      deferred = Promise.withResolvers();
      pending.set(key, deferred);
    }
    return deferred.promise;
  };
}
