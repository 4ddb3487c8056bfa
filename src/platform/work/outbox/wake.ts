import { setTimeout as sleep } from 'node:timers/promises';
import { leaveTransaction } from '../../data/postgres/transaction-watch.ts';
import type { RedisClient } from '../../data/redis/connections.ts';

/** Notifies relays that there is work. */
export interface RelayWakeUp {
  /** Sends the first hint at once; hints in the next 2 ms, or while one is being sent, are combined into one more. */
  hint(): void;
}

/**
 * Minimum ms between two hints: a hint for each of thousands of writes per second would cost more than it saves. At a few hundred per second,
 * each ms here is a ms that many events wait.
 */
const MIN_INTERVAL_MS = 2;

/** Returns the name of the Redis channel of wake-ups. */
export function wakeChannel(prefix: string): string {
  return `${prefix}:wake`;
}

/**
 * Creates the sender of wake-ups. A wake-up is only a hint, because the relay also polls. Wake-ups use Redis, because `NOTIFY` in a
 * write transaction takes a lock that serialises every commit of the database.
 */
export function createRelayWakeUp(redis: RedisClient, prefix: string): RelayWakeUp {
  const channel = wakeChannel(prefix);
  let isPublishing = false;
  let isPending = false;

  async function publishWakeUp(): Promise<void> {
    isPublishing = true;
    // If Redis is down, the relay's poll finds the work.
    await Promise.all([redis.publish(channel, '').catch(() => undefined), sleep(MIN_INTERVAL_MS)]);
    isPublishing = false;
    if (!isPending) return;
    isPending = false;
    void publishWakeUp();
  }

  return {
    hint() {
      if (isPublishing) isPending = true;
      else void leaveTransaction(publishWakeUp);
    },
  };
}
