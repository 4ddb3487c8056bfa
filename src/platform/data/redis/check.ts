import type { Redis } from 'ioredis';
import { withDeadline } from '../../helpers/concurrency/deadline.ts';
import type { Logger } from '../../observability/log.ts';
import { type RedisClient, type RedisConnections, toCluster } from './connections.ts';
import { describeRedisProblem, RedisProblem } from './problems.ts';

interface RedisCheckDependencies {
  redis: RedisConnections;
  env: { redisPrefix: string };
  log: Logger;
}

// Writes through a script, like queues and rate limits do, so that it fails for every reason for which they would fail: a read-only
// replica, a full memory, missing permissions.
const CHECK = "return redis.call('SET', KEYS[1], '1', 'PX', 1000)";

const SLOTS = 16_384;

// While no Sentinel names a server, the client tries them again and again.
const CONNECT_MS = 5000;

/** Returns the hash slot of a hash tag: its CRC-16 (XMODEM). */
function slotOf(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021;
    crc &= 0xffff;
  }
  return crc % SLOTS;
}

/** Returns a key for each master of a cluster, which this master stores. */
function findKeyOfEachMaster(slots: readonly (readonly string[])[], prefix: string): string[] {
  const masters = new Set(slots.flatMap((nodes) => nodes[0] ?? []));
  const keys: string[] = [];
  for (let tag = 0; masters.size > 0 && tag < SLOTS; tag++) {
    if (masters.delete(slots[slotOf(String(tag))]?.[0] ?? '')) keys.push(`${prefix}:check:{${tag}}`);
  }
  return keys;
}

/** Writes to Redis; in a cluster, to every master. Throws the first error of Redis. */
export async function writeToEveryMaster(client: RedisClient, prefix: string): Promise<void> {
  const cluster = toCluster(client);
  if (cluster !== undefined && cluster.status !== 'ready') throw new Error('no node of the cluster responds');
  const keys = cluster === undefined ? [`${prefix}:check`] : findKeyOfEachMaster(cluster.slots, prefix);
  await Promise.all(keys.map((key) => client.eval(CHECK, 1, key)));
}

/**
 * Creates the check of Redis for `/readyz`. It logs once why Redis is not usable, and once that it is usable again. Rejects while Redis is
 * not usable.
 */
export function createRedisCheck({ redis, env, log }: RedisCheckDependencies): () => Promise<void> {
  let problem: string | undefined;
  return async () => {
    try {
      await writeToEveryMaster(redis.commands, env.redisPrefix);
    } catch (error) {
      const current = describeRedisProblem(redis.lastError() ?? error, env.redisPrefix);
      if (problem === undefined) log.warn(`Redis at ${redis.address} ${current}`);
      problem = current;
      throw error;
    }
    if (problem !== undefined) log.info(`Redis at ${redis.address} accepts writes again`);
    problem = undefined;
  };
}

/** Facts about a Redis server, from `INFO`. */
interface ServerFacts {
  /** `redis` or `valkey`. */
  name: string;
  version: string;
  mode: string | undefined;
  evictionPolicy: string | undefined;
}

/** Reads facts about a server; undefined if the user may not run `INFO`. */
async function readServerFacts(client: Redis): Promise<ServerFacts | undefined> {
  let info: string;
  try {
    info = await client.info();
  } catch (error) {
    if (/^NOPERM/.test((error as Error).message)) return undefined;
    throw error;
  }
  const facts = new Map(info.split('\r\n').map((line) => line.split(':', 2) as [string, string]));
  const valkey = facts.get('valkey_version');
  return {
    name: valkey === undefined ? 'Redis' : 'Valkey',
    version: valkey ?? facts.get('redis_version') ?? '',
    mode: facts.get('redis_mode') ?? facts.get('server_mode'),
    evictionPolicy: facts.get('maxmemory_policy'),
  };
}

/** Whether a version is at least 6.2, which added commands that Belfry uses. A fork that reports no version counts as new enough. */
function isNewEnough(version: string): boolean {
  const [, major = '', minor = ''] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  return major === '' || Number(major) > 6 || (Number(major) === 6 && Number(minor) >= 2);
}

function assertUsable({ name, version, mode }: ServerFacts, isCluster: boolean): void {
  if (mode === 'sentinel')
    throw new RedisProblem(
      'is a Sentinel: list the Sentinels in REDIS_SENTINELS, and keep user and password in REDIS_URL',
    );
  if (mode === 'cluster' && !isCluster) throw new RedisProblem('is a node of a Redis Cluster: set REDIS_CLUSTER=on');
  if (!isNewEnough(version))
    throw new RedisProblem(`is ${name} ${version}: Belfry needs Redis 6.2 or newer, or Valkey`);
}

/** A Redis that is usable. */
interface UsableRedis {
  /** Of each master, for example `Redis 7.2.4`; empty if the user may not ask for it. */
  versions: string[];
  /** The policy by which a server deletes keys when its memory is full; `noeviction` if none does; undefined if that is not known. */
  evictionPolicy: string | undefined;
}

/**
 * Connects to Redis and checks that it is usable: its kind and version, and that it accepts writes.
 *
 * @throws RedisProblem or an error of the connection; `describeRedisProblem` describes both
 */
export async function connectAndCheckRedis({
  redis,
  env,
}: Pick<RedisCheckDependencies, 'redis' | 'env'>): Promise<UsableRedis> {
  const { commands } = redis;
  try {
    if (commands.status === 'wait' || commands.status === 'end') await withDeadline(commands.connect(), CONNECT_MS);
    const cluster = toCluster(commands);
    const servers = cluster?.nodes('master') ?? [commands as Redis];
    const facts = (await Promise.all(servers.map(readServerFacts))).filter((server) => server !== undefined);
    for (const server of facts) assertUsable(server, cluster !== undefined);
    await writeToEveryMaster(commands, env.redisPrefix);
    const policies = facts.flatMap((server) => server.evictionPolicy ?? []);
    return {
      versions: facts.map(({ name, version }) => `${name} ${version}`),
      evictionPolicy: policies.find((policy) => policy !== 'noeviction') ?? policies[0],
    };
  } catch (error) {
    // `lastError` says why the connection was closed; the error of a command only says that it is closed.
    throw error instanceof RedisProblem ? error : (redis.lastError() ?? error);
  }
}

/** Describes what happens if Redis may delete keys. */
export function describeEviction(policy: string): string {
  return `deletes keys when its memory is full (maxmemory-policy ${policy}): jobs would start late, and rate limits would forget clients`;
}
