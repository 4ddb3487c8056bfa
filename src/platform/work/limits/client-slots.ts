import { ApiError } from '../../helpers/errors.ts';

const RETRY_SECONDS = 10;

/** Limits the requests of this process that stay open for long, in total and for each client. */
export interface ClientSlots {
  /** The number of open requests. */
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

/** The limits of a process. */
interface SlotLimits {
  total: number;
  perUser: number;
  /** Default: as many as for a user. */
  perAddress?: number;
  /** Creates the error for a client at its limit, with the code RATE_LIMITED. */
  refuse(limit: number, options: { retryAfter: number }): ApiError;
}

/** Creates the slots of a process. */
export function createClientSlots({ total, perUser, perAddress = perUser, refuse }: SlotLimits): ClientSlots {
  const counts = new Map<string, number>();
  let taken = 0;
  return {
    get taken() {
      return taken;
    },
    acquireSlot(client) {
      const isUser = 'user' in client;
      const key = isUser ? `user ${client.user}` : `address ${client.address}`;
      const limit = isUser ? perUser : perAddress;
      const own = counts.get(key) ?? 0;
      if (own >= limit) throw refuse(limit, { retryAfter: RETRY_SECONDS });
      if (taken >= total) throw new ApiError('UNAVAILABLE', undefined, { retryAfter: RETRY_SECONDS });
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
