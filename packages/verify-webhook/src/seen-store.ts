/**
 * Remembers which webhooks were handled, by their `webhook-id`. Several processes need a store that they share, such as Redis or a
 * database; without it, each process has its own.
 */
export interface SeenStore {
  /**
   * Claims an id for `ttlMs`, atomically: of concurrent calls, one gets `claimed`. `handling`: another call has claimed the id. `handled`:
   * it is completed. A claim that is neither completed nor released, because its process died, must end after `ttlMs`.
   */
  claim(id: string, ttlMs: number): Promise<'claimed' | 'handling' | 'handled'>;
  /** Marks a claimed id as handled, for `ttlMs`. */
  complete(id: string, ttlMs: number): Promise<void>;
  /** Ends a claim, so that the next attempt of the sender is handled. */
  release(id: string): Promise<void>;
}

const MAX_HANDLED = 10_000;

/**
 * Creates the store of one process. It keeps the last 10,000 handled ids.
 *
 * @param keepMs it also keeps all ids that were handled in this time, in which messages could be replayed
 */
export function createMemoryStore(keepMs: number): SeenStore {
  /** The times when claims and memories end, by id. Those of handled ids are in their order. */
  const [claimed, handled] = [new Map<string, number>(), new Map<string, number>()];
  return {
    async claim(id, ttlMs) {
      const now = Date.now();
      if ((handled.get(id) ?? 0) > now) return 'handled';
      if ((claimed.get(id) ?? 0) > now) return 'handling';
      claimed.set(id, now + ttlMs);
      return 'claimed';
    },
    async complete(id, ttlMs) {
      const now = Date.now();
      claimed.delete(id);
      handled.delete(id);
      handled.set(id, now + ttlMs);
      for (const [oldest, end] of handled) {
        const isRecent = end - ttlMs + keepMs > now;
        if (end > now && (handled.size <= MAX_HANDLED || isRecent)) break;
        handled.delete(oldest);
      }
    },
    async release(id) {
      claimed.delete(id);
    },
  };
}
