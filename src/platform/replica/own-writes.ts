import type { Logger } from '../observability/log.ts';
import { createRedisBreaker } from '../redis/circuit-breaker.ts';
import type { RedisClient } from '../redis/connections.ts';
import type { ReplicaProgress } from './progress.ts';

/** When each user last changed records, in any process, for as long as a replica may lack the change. */
export interface OwnWrites {
  /** Records that a user has just changed a record. Does not wait for Redis. */
  add(userId: string): void;
  /**
   * Returns when the user last changed a record, as the primary's time or later; undefined if the replica has every change of the user.
   * `unknown`: Redis does not say.
   */
  find(userId: string): Promise<number | 'unknown' | undefined>;
}

/** The time of the primary is estimated, and two processes may estimate it differently by a few ms. */
const TOLERANCE_MS = 100;

/**
 * Creates the record of users' writes. It is kept in Redis, and in this process, which needs no Redis for its own writes.
 *
 * @param keepMs how long a write is kept: longer than a replica may lag
 */
export function createOwnWrites(
  redis: RedisClient,
  prefix: string,
  { keepMs, progress, log }: { keepMs: number; progress: ReplicaProgress; log: Logger },
): OwnWrites {
  const breaker = createRedisBreaker({
    log,
    messages: {
      opened: 'Redis is down: lists of signed-in users are read from the primary',
      closed: 'Redis is available again: lists of signed-in users are read from the replica',
    },
  });
  /** The writes of this process, the oldest first. */
  const local = new Map<string, { time: number; until: number }>();
  /** Until then, Redis may lack a write that could not be stored there. */
  let incompleteUntil = Number.NEGATIVE_INFINITY;

  const markIncomplete = () => {
    incompleteUntil = performance.now() + keepMs;
  };
  let wasReady = false;
  redis.on('ready', () => {
    // What other processes could not store meanwhile is missing now, and a restarted server may have lost everything.
    if (wasReady) markIncomplete();
    wasReady = true;
  });

  const keyOf = (userId: string) => `${prefix}:wrote:${userId}`;

  function removeOld(): void {
    const now = performance.now();
    for (const [userId, { until }] of local) {
      if (until > now) return;
      local.delete(userId);
    }
  }

  function remember(userId: string, time: number): void {
    removeOld();
    // Deleted first, so that the order stays that of the times.
    local.delete(userId);
    local.set(userId, { time, until: performance.now() + keepMs });
  }

  async function readTime(userId: string): Promise<number | 'unknown' | undefined> {
    try {
      const value = await breaker.run(() => redis.get(keyOf(userId)));
      if (performance.now() < incompleteUntil) return 'unknown';
      return value === null ? undefined : Number(value);
    } catch {
      // The breaker has logged it.
      markIncomplete();
      return 'unknown';
    }
  }

  return {
    add(userId) {
      const now = progress.primaryNow();
      // A process that does not watch the replica cannot name the time: the write then counts until its key expires.
      const time = now === undefined ? Number.POSITIVE_INFINITY : Math.ceil(now + TOLERANCE_MS);
      remember(userId, time);
      redis.set(keyOf(userId), String(time), 'PX', keepMs).catch(markIncomplete);
    },
    async find(userId) {
      removeOld();
      const own = local.get(userId)?.time;
      if (own !== undefined && !progress.hasCommitsUntil(own)) return own;
      const time = await readTime(userId);
      return typeof time === 'number' && progress.hasCommitsUntil(time) ? undefined : time;
    },
  };
}
