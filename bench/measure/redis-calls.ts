import type { Redis } from 'ioredis';

/** How often Redis executed each command. */
export type RedisCalls = ReadonlyMap<string, number>;

/** Counts every command that Redis executed, also those that scripts called. */
export async function countRedisCommands(redis: Redis): Promise<RedisCalls> {
  const calls = [...(await redis.info('commandstats')).matchAll(/^cmdstat_(\S+):calls=(\d+)/gm)];
  return new Map(calls.filter(([, name]) => name !== 'info').map(([, name, count]) => [name!, Number(count)]));
}

/** Returns what was executed between two counts. */
export const subtractCalls = (after: RedisCalls, before: RedisCalls): RedisCalls =>
  new Map([...after].map(([name, count]) => [name, count - (before.get(name) ?? 0)]));

/** Returns the number of all commands. */
export const sumCalls = (calls: RedisCalls) => [...calls.values()].reduce((sum, count) => sum + count, 0);
