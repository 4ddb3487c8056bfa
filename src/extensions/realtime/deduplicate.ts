import type { RecordChange } from './entry.ts';

const MOST = 20_000;

/** Makes what leaves out changes that came before: a relay may add one twice. Of more than 20,000 the oldest are forgotten. */
export function createDeduplicate(): (changes: readonly RecordChange[]) => RecordChange[] {
  // A Set keeps the order of insertion.
  const known = new Set<string>();
  return (changes) => {
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
  };
}
