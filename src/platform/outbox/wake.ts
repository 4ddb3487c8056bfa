import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';

/** Tells relays that there is something to do. */
export interface Wake {
  /** The first hint goes out at once; those of the next 5 ms, and while it is in flight, are gathered into one more. */
  hint(): void;
}

/** A hint for each of thousands of writes a second would cost more than what it hastens. */
const GAP_MS = 5;

/** The Redis channel of wake-ups. */
export function wakeChannel(prefix: string): string {
  return `${prefix}:wake`;
}

/**
 * A hint and no more: the relay also polls. It goes through Redis since `NOTIFY` in a write transaction takes a lock that
 * serialises every commit of the database.
 */
export function createWake(redis: Redis, prefix: string): Wake {
  const channel = wakeChannel(prefix);
  let busy = false;
  let again = false;

  async function publish(): Promise<void> {
    busy = true;
    // Redis is away: the relay's poll is the net under this.
    await Promise.all([redis.publish(channel, '').catch(() => undefined), sleep(GAP_MS)]);
    busy = false;
    if (!again) return;
    again = false;
    void publish();
  }

  return {
    hint() {
      if (busy) again = true;
      else void publish();
    },
  };
}
