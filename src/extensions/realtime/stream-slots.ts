import { ApiError } from '../../platform/errors.ts';
import type { RealtimeSettings } from './settings.ts';

const RETRY_SECONDS = 10;

/** How many streams this process may have open, in all and for each client. */
export interface StreamSlots {
  /** How many are open. */
  readonly taken: number;
  /**
   * Takes a slot.
   *
   * @param who the id of a user, or the address of somebody who is signed out
   * @returns gives the slot back; the second time it does nothing
   * @throws ApiError RATE_LIMITED when they have as many as they may, UNAVAILABLE when the process has
   */
  acquire(who: { user: string } | { address: string }): () => void;
}

/** Makes them. */
export function createStreamSlots(
  settings: Pick<RealtimeSettings, 'maxStreams' | 'maxStreamsPerUser' | 'maxStreamsPerAddress'>,
): StreamSlots {
  const counts = new Map<string, number>();
  let taken = 0;
  return {
    get taken() {
      return taken;
    },
    acquire(who) {
      const isUser = 'user' in who;
      const key = isUser ? `user ${who.user}` : `address ${who.address}`;
      const most = isUser ? settings.maxStreamsPerUser : settings.maxStreamsPerAddress;
      const own = counts.get(key) ?? 0;
      if (own >= most) {
        throw new ApiError('RATE_LIMITED', `You can have at most ${most} streams open`, { retryAfter: RETRY_SECONDS });
      }
      if (taken >= settings.maxStreams) throw new ApiError('UNAVAILABLE', undefined, { retryAfter: RETRY_SECONDS });
      taken += 1;
      counts.set(key, own + 1);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        taken -= 1;
        const left = counts.get(key)! - 1;
        if (left === 0) counts.delete(key);
        else counts.set(key, left);
      };
    },
  };
}
