/** Runs `work` on a record when those who came before have done theirs. */
export type KeyedQueue = <T>(id: string, work: () => Promise<T>) => Promise<T>;

// Code of a project that waits for itself (a hook that changes the record it is asked about) must not wait for ever.
const LONGEST_TURN_MS = 5000;

/** Makes the turns of a resource in this process: one at a time for each record, in the order in which they came. Nothing is locked. */
export function createKeyedQueue(): KeyedQueue {
  const last = new Map<string, Promise<void>>();
  return async (id, work) => {
    const before = last.get(id);
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    last.set(id, over);
    await before;
    const limit = setTimeout(end, LONGEST_TURN_MS);
    try {
      return await work();
    } finally {
      clearTimeout(limit);
      end();
      if (last.get(id) === over) last.delete(id);
    }
  };
}
