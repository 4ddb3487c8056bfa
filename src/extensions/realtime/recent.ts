import type { RecordChange } from './entry.ts';

const MOST = 20_000;

/** Knows the newest changes, so that one that a relay added twice is told once. */
export interface Recent {
  /** Those that have not come before, in their order. */
  unseen(changes: readonly RecordChange[]): RecordChange[];
}

/** Makes it. Beyond a bound the oldest are forgotten. */
export function createRecent(): Recent {
  // A Set keeps the order of insertion.
  const known = new Set<string>();
  return {
    unseen(changes) {
      const fresh = changes.filter(({ eventId }) => {
        const isNew = !known.has(eventId);
        known.add(eventId);
        return isNew;
      });
      for (const id of known) {
        if (known.size <= MOST) break;
        known.delete(id);
      }
      return fresh;
    },
  };
}
