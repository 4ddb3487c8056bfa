import type { Redis } from 'ioredis';
import { createMicroBatch } from '../micro-batch.ts';
import type { RedisBreaker } from '../redis-breaker.ts';

/** Requests in the window so far, this one included, and the ms that are left of it. */
export type Count = readonly [count: number, leftMs: number];

/** Adds one to a key whose window begins with its first. */
export type Counter = (key: string, windowMs: number) => Promise<Count>;

// KEYS: what is counted; ARGV: of each how many more, and its window in ms. A key without an end, whatever made it so, is given one.
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

type Scripted = Redis & { belfryCount(keys: number, ...keysAndCounts: (string | number)[]): Promise<number[]> };

interface Counted {
  key: string;
  windowMs: number;
  /** Once its batch is written. */
  count?: Count;
}

/** A call of the script for so many counts is bounded, however many requests come at once. */
const MAX_COUNTS = 1000;

/**
 * A counter in Redis. What is counted in one turn of the event loop, for however many requests and limits, is one script
 * call: one round trip, and atomic. So is what comes while a call is under way: under load calls are few, however the requests
 * are spread.
 *
 * The counter's promise rejects as the breaker does.
 */
export function createCounter(redis: Redis, breaker: RedisBreaker): Counter {
  redis.defineCommand('belfryCount', { lua: COUNT });

  async function count(batch: Counted[]): Promise<void> {
    const byKey = Map.groupBy(batch, ({ key }) => key);
    const more = [...byKey.values()].flatMap((same) => [same.length, same[0]!.windowMs]);
    const counts = await breaker.run(() => (redis as Scripted).belfryCount(byKey.size, ...byKey.keys(), ...more));
    let place = 0;
    for (const same of byKey.values()) {
      const [all, leftMs] = [counts[place]!, counts[place + 1]!];
      // Redis counted those of the same key at once; each gets the count that it would have had alone.
      for (const [i, one] of same.entries()) one.count = [all - same.length + i + 1, leftMs];
      place += 2;
    }
  }
  const add = createMicroBatch(count, MAX_COUNTS, setImmediate);

  return async (key, windowMs) => {
    const counted: Counted = { key, windowMs };
    await add(counted);
    return counted.count!;
  };
}
