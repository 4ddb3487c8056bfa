import { type RedisServers, startRedisServers, waitUntil, withRedis } from './redis-servers.ts';

/** A throw-away Redis with two replicas, watched by three Sentinels under the name `bell`. */
export interface RedisSentinelServers extends RedisServers {
  /** The ports of the three servers; the first is the master at the start. */
  servers: readonly number[];
  sentinels: readonly number[];
  /** Returns the port of the master that the Sentinels name. */
  findMaster(): Promise<number>;
}

/** Starts the servers. A master that does not respond for a second is replaced. @param password of the servers */
export async function startRedisSentinels(password: string): Promise<RedisSentinelServers> {
  const all = await startRedisServers(6, (ports) =>
    ports.map((_, index) =>
      index < 3
        ? [
            `requirepass ${password}`,
            `masterauth ${password}`,
            'maxmemory-policy noeviction',
            'repl-diskless-sync-delay 0',
            ...(index > 0 ? [`replicaof 127.0.0.1 ${ports[0]}`] : []),
          ]
        : [
            `sentinel monitor bell 127.0.0.1 ${ports[0]} 2`,
            `sentinel auth-pass bell ${password}`,
            'sentinel down-after-milliseconds bell 1000',
            'sentinel failover-timeout bell 5000',
          ],
    ),
  );
  const [servers, sentinels] = [all.ports.slice(0, 3), all.ports.slice(3)];
  const findMaster = () =>
    withRedis({ port: sentinels[0]! }, async (redis) => {
      const [, port] = (await redis.call('SENTINEL', 'get-master-addr-by-name', 'bell')) as string[];
      return Number(port);
    });
  for (const port of sentinels) {
    await withRedis({ port, enableReadyCheck: false }, (redis) =>
      waitUntil('The introduction of the Sentinels', async () =>
        /bell,status=ok,address=[\d.:]+,slaves=2,sentinels=3/.test(await redis.info()),
      ),
    );
  }
  for (const port of servers.slice(1)) {
    await withRedis({ port, password }, (redis) =>
      waitUntil('The first synchronization of a replica', async () =>
        (await redis.info('replication')).includes('master_link_status:up'),
      ),
    );
  }
  return { ...all, servers, sentinels, findMaster };
}
