import { Redis } from 'ioredis';

/**
 * Shortens the lives of an app's keys by `ms`, as if that time had passed: the counts of rate limits and lockouts. Keys of queues, which
 * are in braces, stay: their locks belong to jobs in progress.
 *
 * @param prefix the app's REDIS_PREFIX
 */
export async function expireKeys(url: string, prefix: string, ms: number): Promise<void> {
  const redis = new Redis(url);
  try {
    for await (const keys of redis.scanStream({ match: `${prefix}:*`, count: 1000 })) {
      for (const key of (keys as string[]).filter((name) => !isQueueKey(name, prefix))) {
        const left = await redis.pttl(key);
        if (left >= 0 && left <= ms) await redis.unlink(key);
        else if (left > ms) await redis.pexpire(key, left - ms);
      }
    }
  } finally {
    redis.disconnect();
  }
}

function isQueueKey(key: string, prefix: string): boolean {
  return key.startsWith(`${prefix}:{`);
}
