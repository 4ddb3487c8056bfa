import type { RedisBreaker } from '../../data/redis/circuit-breaker.ts';
import type { RedisClient } from '../../data/redis/connections.ts';
import { createMicroBatch } from '../../helpers/concurrency/micro-batch.ts';

/** The requests in the window so far, including this one, and the ms left in the window. */
export type Count = readonly [count: number, leftMs: number];

/** Adds requests to the count of a key. The window of a key begins with its first request. */
export type Counter = (key: string, windowMs: number, amount: number) => Promise<Count>;

// KEYS: the counters; ARGV: the increment and the window in ms of each key. A key without an expiry gets one.
const COUNT = `
local counts = {}
for i, key in ipairs(KEYS) do
  local count = redis.call('INCRBY', key, ARGV[2 * i - 1])
  local left = redis.call('PTTL', key)
  if left < 0 then
    redis.call('PEXPIRE', key, ARGV[2 * i])
    left = tonumber(ARGV[2 * i])
  end
  counts[2 * i - 1] = count
  counts[2 * i] = left
end
return counts`;

type RedisWithCountScript = RedisClient & {
  belfryCount(keys: number, ...keysAndCounts: (string | number)[]): Promise<number[]>;
};

interface PendingCount {
  key: string;
  windowMs: number;
  amount: number;
}

function sumAmounts(counts: readonly PendingCount[]): number {
  return counts.reduce((sum, { amount }) => sum + amount, 0);
}

/** The maximum number of counts per script call, however many requests arrive at once. */
const MAX_COUNTS = 1000;

/** The number of shards that counters are spread over. All processes must agree on it. */
const SHARDS = 16;

/** Returns the shard of a key: its FNV-1a hash, modulo the number of shards. */
function shardOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % SHARDS;
}

/** Returns the key in Redis of a counter. @param prefix the start of every key of counters */
export function counterKey(prefix: string, key: string): string {
  return `${prefix}:{${shardOf(key)}}:${key}`;
}

/** Returns the counter of a key in Redis: the inverse of `counterKey`. */
export function parseCounterKey(prefix: string, redisKey: string): string {
  return redisKey.slice(redisKey.indexOf('}:', prefix.length) + 2);
}

/** Returns how many breakers a counter needs: one for each part of Redis that can fail separately. */
export function countBreakers(redis: RedisClient): number {
  return redis.isCluster ? SHARDS : 1;
}

/**
 * Creates a counter in Redis. All counts of one turn of the event loop, for any number of requests and limits, are sent in one script
 * call: one round trip, and atomic. Counts that arrive while a call is in progress form the next call, so under load there are
 * few calls. In a Redis Cluster, where the keys of a call must be on one node, there is one call for each shard.
 *
 * The counter rejects while Redis is down, as `breaker.run` does.
 *
 * @param prefix the start of every Redis key
 * @param breakers as many as `countBreakers` returns
 */
export function createCounter(redis: RedisClient, prefix: string, breakers: readonly RedisBreaker[]): Counter {
  redis.defineCommand('belfryCount', { lua: COUNT });

  async function sendCounts(batch: PendingCount[], breaker: RedisBreaker): Promise<Count[]> {
    const byKey = Map.groupBy(batch, ({ key }) => key);
    const args = [...byKey.values()].flatMap((sameKey) => [sumAmounts(sameKey), sameKey[0]!.windowMs]);
    const counts = await breaker.run(() =>
      (redis as RedisWithCountScript).belfryCount(byKey.size, ...byKey.keys(), ...args),
    );
    const results = new Map<PendingCount, Count>();
    let index = 0;
    for (const sameKey of byKey.values()) {
      const [total, leftMs] = [counts[index]!, counts[index + 1]!];
      // Redis added the counts of the same key at once; return to each caller the count that it would have received alone.
      let count = total - sumAmounts(sameKey);
      for (const pendingCount of sameKey) {
        count += pendingCount.amount;
        results.set(pendingCount, [count, leftMs]);
      }
      index += 2;
    }
    return batch.map((pendingCount) => results.get(pendingCount)!);
  }
  const batches = breakers.map((breaker) =>
    createMicroBatch<PendingCount, Count>((batch) => sendCounts(batch, breaker), MAX_COUNTS, setImmediate),
  );

  return (key, windowMs, amount) =>
    batches[shardOf(key) % batches.length]!({ key: counterKey(prefix, key), windowMs, amount });
}
