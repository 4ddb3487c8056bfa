import { createRedisBreakers } from '../../data/redis/circuit-breaker.ts';
import type { RedisClient } from '../../data/redis/connections.ts';
import { findKeys, readKey } from '../../data/redis/find-keys.ts';
import type { Logger } from '../../observability/log.ts';
import type { Metrics } from '../../observability/metrics.ts';
import { countBreakers, counterKey, createCounter, parseCounterKey } from './counter.ts';
import { createLimiter, type Limiter, toCountedKey } from './limiter.ts';
import type { LimitRule } from './rule.ts';

/** Rate limits that all processes of an app share. */
export interface Limits {
  /**
   * Creates the limiter of a rule. Call it once, not for each request.
   *
   * @param name the name of the limit: limiters with the same name and window share their counts in every process
   */
  limiter(name: string, rule: LimitRule): Limiter;
  /** Returns the names and rules of all limiters that this process has created. */
  rules(): NamedRule[];
  /**
   * Reads the clients whose requests are counted now, up to 1,000.
   *
   * @throws the error of Redis if it is not usable
   */
  findClients(): Promise<{ clients: CountedClient[]; isCut: boolean }>;
  /**
   * Reads the counts of a client, or of an e-mail address, within all limits. One round trip.
   *
   * @throws the error of Redis if it is not usable
   */
  readClient(client: string): Promise<CountedClient[]>;
  /**
   * Deletes the count of a client in Redis. Processes that refuse the client go on until the end of its window, or until `forget`.
   *
   * @returns whether there was a count
   */
  clear(name: string, windowMs: number, client: string): Promise<boolean>;
  /** Forgets what this process remembers about a client. */
  forget(name: string, windowMs: number, client: string): void;
}

/** A limiter's rule with its name. */
interface NamedRule {
  name: string;
  rule: LimitRule;
}

/** A client whose requests are counted. */
export interface CountedClient extends NamedRule {
  /** The key that the limiter counts: an IP address, the hash of an e-mail address, or what else the feature counts. */
  client: string;
  count: number;
  /** ms until the end of the window. */
  leftMs: number;
}

/**
 * Creates limits that are counted in Redis; while Redis is down, each process counts for itself.
 *
 * @param prefix the prefix of every key, so that two apps can share a Redis
 */
export function createLimits(redis: RedisClient, prefix: string, log: Logger, metrics: Metrics): Limits {
  metrics.redisFallbacks.inc({ what: 'limits' }, 0);
  const breakers = createRedisBreakers(countBreakers(redis), {
    log,
    messages: {
      opened: 'Redis is down: each process counts rate limits by itself',
      closed: 'Redis is available again: rate limits are counted there',
    },
    onRefused: () => metrics.redisFallbacks.inc({ what: 'limits' }),
  });
  const keyPrefix = `${prefix}:limit`;
  const count = createCounter(redis, keyPrefix, breakers);
  // The window is part of the key, so that a changed window applies at once, without the counts of the old one.
  const idOf = (name: string, windowMs: number) => `${name}:${windowMs}`;
  const limiters = new Map<string, NamedRule & { all: Limiter[] }>();

  /** Returns the client of a counter; undefined if the counter is one of another version or of another feature. */
  function parseCounter(counter: string): (NamedRule & { client: string }) | undefined {
    for (const [id, { name, rule }] of limiters) {
      if (counter.startsWith(`${id}:`)) return { name, rule, client: counter.slice(id.length + 1) };
    }
    return undefined;
  }

  return {
    limiter(name, rule) {
      const id = idOf(name, rule.windowMs);
      const limiter = createLimiter(id, rule, redis, count);
      const known = limiters.get(id)?.all ?? [];
      limiters.set(id, { name, rule, all: [...known, limiter] });
      return limiter;
    },
    rules: () => [...limiters.values()].map(({ name, rule }) => ({ name, rule })),
    async findClients() {
      const { keys, isCut } = await findKeys(redis, `${keyPrefix}:{`);
      const clients = keys.flatMap(({ key, value, leftMs }) => {
        const parsed = parseCounter(parseCounterKey(keyPrefix, key));
        return parsed === undefined ? [] : [{ ...parsed, count: Number(value), leftMs }];
      });
      return { clients, isCut };
    },
    async readClient(named) {
      const client = toCountedKey(named);
      const counts = [...limiters].map(async ([id, { name, rule }]) => {
        const { value, leftMs } = await readKey(redis, counterKey(keyPrefix, `${id}:${client}`));
        return value === null ? [] : [{ name, rule, client, count: Number(value), leftMs }];
      });
      return (await Promise.all(counts)).flat();
    },
    clear: async (name, windowMs, client) =>
      (await redis.del(counterKey(keyPrefix, `${idOf(name, windowMs)}:${toCountedKey(client)}`))) > 0,
    forget(name, windowMs, client) {
      for (const limiter of limiters.get(idOf(name, windowMs))?.all ?? []) limiter.forget(client);
    },
  };
}
