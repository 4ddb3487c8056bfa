import type { Redis } from 'ioredis';
import type { Host } from '../../../extension/index.ts';
import { describePostgresProblem, suggestPostgresFix } from '../../../platform/data/postgres/problems.ts';
import { toCluster } from '../../../platform/data/redis/connections.ts';
import { describeRedisProblem, suggestRedisFix } from '../../../platform/data/redis/problems.ts';
import type { Overview, RedisServer } from './responses.ts';
import { createSharedRead } from './shared-read.ts';

const STATE = `select current_setting('server_version'),
  extract(epoch from now() - pg_postmaster_start_time())::float8,
  (select count(*)::int from pg_stat_activity where coalesce(backend_type, 'client backend') = 'client backend'),
  current_setting('max_connections')::int,
  (select count(*) filter (where state = 'active')::int from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()),
  (select count(*) filter (where wait_event_type = 'Lock')::int from pg_stat_activity where datname = current_database()),
  (select count(*) filter (where state like 'idle in transaction%')::int from pg_stat_activity where datname = current_database()),
  (select blks_hit::float8 / nullif(blks_hit + blks_read, 0) from pg_stat_database where datname = current_database()),
  (select deadlocks::int from pg_stat_database where datname = current_database())`;

type StateRow = [
  version: string,
  uptimeSeconds: number,
  connections: number,
  maxConnections: number,
  active: number,
  waitingForLock: number,
  idleInTransaction: number,
  cacheHits: number | null,
  deadlocks: number,
];

/** Postgres reads the sizes of all files for it, so it is measured rarely. */
const SIZE_FRESH_MS = 60_000;
const SIZE = 'select pg_database_size(current_database())::float8';

const roundMs = (ms: number) => Number(ms.toFixed(1));

/** Runs a read, and returns its duration in ms. */
async function measure(read: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await read();
  return roundMs(performance.now() - startedAt);
}

/** Creates the function that reads the state of Postgres. A read takes two sequential statements, and once per minute a third one. */
export function createPostgresReader({ database }: Pick<Host, 'database'>): () => Promise<Overview['postgres']> {
  const readSize = createSharedRead(() => database.readSlowly<[number]>({ text: SIZE, values: [] }), SIZE_FRESH_MS);
  return async () => {
    try {
      // Measured separately: the other statements must not delay it.
      const latencyMs = await measure(() => database.read({ text: 'select 1', values: [] }));
      const [[row], [size]] = await Promise.all([
        database.readSlowly<StateRow>({ name: 'console_postgres_state', text: STATE, values: [] }),
        readSize(),
      ]);
      const [version, uptime, connections, max, active, waitingForLock, idleInTransaction, cacheHits, deadlocks] = row!;
      return {
        latencyMs,
        version: version.split(' ')[0]!,
        uptimeSeconds: Math.round(uptime),
        connections,
        maxConnections: max,
        ...{ active, waitingForLock, idleInTransaction, cacheHits, deadlocks },
        bytes: size![0],
      };
    } catch (error) {
      return {
        problem: `Postgres ${describePostgresProblem(error)}`,
        fix: suggestPostgresFix(error, 'DATABASE_URL') ?? null,
      };
    }
  };
}

/** Returns the facts of INFO; none if the user may not run it. */
async function readInfo(server: Redis): Promise<Map<string, string>> {
  try {
    const text = await server.info();
    return new Map(text.split('\r\n').map((line) => line.split(':', 2) as [string, string]));
  } catch (error) {
    if (/^NOPERM/.test((error as Error).message)) return new Map();
    throw error;
  }
}

async function readServer(server: Redis): Promise<RedisServer> {
  const [latencyMs, info] = await Promise.all([measure(() => server.ping()), readInfo(server)]);
  const parseInfoNumber = (name: string) => (info.has(name) ? Number(info.get(name)) : null);
  const valkey = info.get('valkey_version');
  const redis = info.get('redis_version');
  return {
    address: `${server.options.host ?? 'localhost'}:${server.options.port ?? 6379}`,
    latencyMs,
    version: valkey === undefined ? (redis === undefined ? null : `Redis ${redis}`) : `Valkey ${valkey}`,
    uptimeSeconds: parseInfoNumber('uptime_in_seconds'),
    usedBytes: parseInfoNumber('used_memory'),
    maxBytes: parseInfoNumber('maxmemory'),
    evictionPolicy: info.get('maxmemory_policy') ?? null,
    evictedKeys: parseInfoNumber('evicted_keys'),
    clients: parseInfoNumber('connected_clients'),
    commandsPerSecond: parseInfoNumber('instantaneous_ops_per_sec'),
  };
}

/** Reads the state of Redis: two commands side by side for each server; several servers only in a cluster. */
export async function readRedisState({ redis, env }: Pick<Host, 'redis' | 'env'>): Promise<Overview['redis']> {
  const { commands } = redis;
  try {
    const servers = toCluster(commands)?.nodes('master') ?? [commands as Redis];
    return { servers: await Promise.all(servers.map(readServer)) };
  } catch (error) {
    const cause = redis.lastError() ?? error;
    const fix = suggestRedisFix(cause) ?? null;
    const address = fix === null ? '' : ` (${redis.address})`;
    return { problem: `Redis ${describeRedisProblem(cause, env.redisPrefix)}${address}`, fix };
  }
}
