import { leastIdAt } from '../../platform/ids.ts';

/** ms that a push is kept with its results. */
export const KEEP_PUSHES_MS = 30 * 86_400_000;

/** Returns the least id of the pushes that are kept. Older ones may still be in the partition of their day, but are no longer shown. */
export function leastKeptPushId(): string {
  return leastIdAt(Date.now() - KEEP_PUSHES_MS);
}
