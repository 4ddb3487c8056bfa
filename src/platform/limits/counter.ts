import type { Redis } from 'ioredis';
import type { Guard } from './guard.ts';

/** How many in the window so far, this one included, and how many ms of it are left. */
export type Count = readonly [count: number, leftMs: number];

/** Adds one to a key whose window begins with its first. */
export type Counter = (key: string, windowMs: number) => Promise<Count>;

// KEYS: what is counted; ARGV: the window of each, in ms. A key without an end, whatever made it so, is given one.
const COUNT = `
local counts = {}
for i, key in ipairs(KEYS) do
  local count = redis.call('INCR', key)
  local left = redis.call('PTTL', key)
  if left < 0 then
    redis.call('PEXPIRE', key, ARGV[i])
    left = tonumber(ARGV[i])
  end
  counts[2 * i - 1] = count
  counts[2 * i] = left
end
return counts`;

type Scripted = Redis & { belfryCount(keys: number, ...keysAndWindows: (string | number)[]): Promise<number[]> };

interface Batch {
  keys: string[];
  windows: number[];
  answer: Promise<number[]>;
}

/**
 * A counter in Redis. What is counted in one turn of the event loop, for however many requests and limits, is one script
 * call: one round trip, and atomic.
 *
 * The counter's promise rejects as the guard does.
 */
export function createCounter(redis: Redis, guard: Guard): Counter {
  redis.defineCommand('belfryCount', { lua: COUNT });
  let gathered: Batch | undefined;

  function gather(): Batch {
    const { promise, resolve } = Promise.withResolvers<number[]>();
    const batch: Batch = { keys: [], windows: [], answer: promise };
    setImmediate(() => {
      gathered = undefined;
      const { keys, windows } = batch;
      resolve(guard.ask(() => (redis as Scripted).belfryCount(keys.length, ...keys, ...windows)));
    });
    return batch;
  }

  return async (key, windowMs) => {
    gathered ??= gather();
    const { keys, windows, answer } = gathered;
    const at = 2 * (keys.push(key) - 1);
    windows.push(windowMs);
    const counts = await answer;
    return [counts[at]!, counts[at + 1]!];
  };
}
