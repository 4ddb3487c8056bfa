import { Redis } from 'ioredis';

/** Deletes the Redis keys of an app. @param prefix the app's REDIS_PREFIX */
export async function deleteRedisKeys(url: string, prefix: string): Promise<void> {
  const redis = new Redis(url);
  try {
    // The leading star also finds keys whose prefix is in braces (a hash tag).
    for await (const keys of redis.scanStream({ match: `*${prefix}*`, count: 1000 })) {
      if (keys.length) await redis.unlink(...keys);
    }
  } finally {
    redis.disconnect();
  }
}
