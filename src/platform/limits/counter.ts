import type { Redis } from 'ioredis';
import type { Guard } from './guard.ts';

/** How many in the window so far, this one included, and how many ms of it are left. */
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

interface Batch {
  /** Where each key stands in the call. */
  places: Map<string, number>;
  /** How many more of each key, and its window in ms, in turn. */
  counted: number[];
  answer: Promise<number[]>;
  settle(answer: Promise<number[]>): void;
}

/**
 * A counter in Redis. What is counted in one turn of the event loop, for however many requests and limits, is one script
 * call: one round trip, and atomic. One call is under way at a time: what comes meanwhile goes with the next, so that under load
 * calls are few, however the requests are spread.
 *
 * The counter's promise rejects as the guard does.
 */
export function createCounter(redis: Redis, guard: Guard): Counter {
  redis.defineCommand('belfryCount', { lua: COUNT });
  let gathered: Batch | undefined;
  let underway = false;

  async function send(): Promise<void> {
    if (gathered === undefined || underway) return;
    const { places, counted, settle } = gathered;
    gathered = undefined;
    underway = true;
    const answer = guard.ask(() => (redis as Scripted).belfryCount(places.size, ...places.keys(), ...counted));
    settle(answer);
    await answer.catch(() => undefined);
    underway = false;
    // Those that the answer has let go on may count more in this turn.
    setImmediate(send);
  }

  function gather(): Batch {
    const { promise, resolve } = Promise.withResolvers<number[]>();
    if (!underway) setImmediate(send);
    return { places: new Map(), counted: [], answer: promise, settle: resolve };
  }

  return async (key, windowMs) => {
    gathered ??= gather();
    const { places, counted, answer } = gathered;
    let place = places.get(key);
    if (place === undefined) {
      place = places.size;
      places.set(key, place);
      counted.push(0, windowMs);
    }
    const turn = ++counted[2 * place]!;
    const counts = await answer;
    // Redis counted those of the same key at once; each gets the count that it would have had alone.
    return [counts[2 * place]! - counted[2 * place]! + turn, counts[2 * place + 1]!];
  };
}
