import type { Redis } from 'ioredis';
import { type RedisClient, toCluster } from './connections.ts';

/** The keys that one search reads at most, and the calls of SCAN that it needs at most. */
const MAX_KEYS = 1000;
const MAX_SCANS = 40;
const KEYS_PER_SCAN = 500;

/** A key with its value and the ms until it expires. */
interface FoundKey {
  key: string;
  value: string;
  leftMs: number;
}

/** The keys that a search has found. `isCut`: there are more, or the search ended early because Redis has very many keys. */
interface FoundKeys {
  keys: FoundKey[];
  isCut: boolean;
}

const escapePattern = (text: string) => text.replace(/[*?[\]\\]/g, '\\$&');

/** Reads a key; `value` is null if it does not exist. One round trip. */
export async function readKey(client: RedisClient, key: string): Promise<{ value: string | null; leftMs: number }> {
  const [value, leftMs] = await Promise.all([client.get(key), client.pttl(key)]);
  return { value, leftMs };
}

/** Searches one server. Values are read with one round trip for each call of SCAN that found keys. */
async function scanServer(server: Redis, pattern: string, maxKeys: number): Promise<FoundKeys> {
  const keys: FoundKey[] = [];
  const seen = new Set<string>();
  let cursor = '0';
  for (let scans = 0; scans < MAX_SCANS; scans++) {
    const [next, names] = await server.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_PER_SCAN);
    // SCAN may return a key more than once.
    const fresh = names.filter((name) => !seen.has(name)).slice(0, maxKeys - keys.length);
    for (const name of fresh) seen.add(name);
    const read = fresh.map(async (key) => {
      const { value, leftMs } = await readKey(server, key);
      // The key may have expired meanwhile.
      return value === null ? [] : [{ key, value, leftMs }];
    });
    keys.push(...(await Promise.all(read)).flat());
    cursor = next;
    if (cursor === '0') return { keys, isCut: false };
    if (keys.length >= maxKeys) break;
  }
  return { keys, isCut: true };
}

/**
 * Reads keys that begin with a prefix, and their values, at most 1,000 of them. Blocks Redis only for moments, and ends early if Redis has
 * very many other keys.
 *
 * @param prefix as text; the keys must be strings
 */
export async function findKeys(redis: RedisClient, prefix: string): Promise<FoundKeys> {
  const servers = toCluster(redis)?.nodes('master') ?? [redis as Redis];
  const maxKeys = Math.ceil(MAX_KEYS / servers.length);
  const found = await Promise.all(servers.map((server) => scanServer(server, `${escapePattern(prefix)}*`, maxKeys)));
  return { keys: found.flatMap(({ keys }) => keys), isCut: found.some(({ isCut }) => isCut) };
}
