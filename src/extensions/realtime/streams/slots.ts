import { ApiError } from '../../../extension/index.ts';
import type { RealtimeSettings } from '../settings/settings.ts';

const RETRY_SECONDS = 10;

/** Limits the open streams of this process, in total and for each client. */
export interface StreamSlots {
  /** The number of open streams. */
  readonly taken: number;
  /**
   * Acquires a slot.
   *
   * @param client the id of a user, or the address of an anonymous client
   * @returns a function that releases the slot; calling it again does nothing
   * @throws ApiError RATE_LIMITED at the limit of the client, UNAVAILABLE at the limit of the process
   */
  acquireSlot(client: { user: string } | { address: string }): () => void;
}

/** Creates the slots for the client streams of a process. */
export function createStreamSlots(
  settings: Pick<RealtimeSettings, 'maxStreams' | 'maxStreamsPerUser' | 'maxStreamsPerAddress'>,
): StreamSlots {
  const counts = new Map<string, number>();
  let taken = 0;
  return {
    get taken() {
      return taken;
    },
    acquireSlot(client) {
      const isUser = 'user' in client;
      const key = isUser ? `user ${client.user}` : `address ${client.address}`;
      const limit = isUser ? settings.maxStreamsPerUser : settings.maxStreamsPerAddress;
      const own = counts.get(key) ?? 0;
      if (own >= limit) {
        throw new ApiError('RATE_LIMITED', `You can have at most ${limit} streams open`, { retryAfter: RETRY_SECONDS });
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
