import { type RedisServers, startRedisServers, waitUntil, withRedis } from './redis-servers.ts';

const SLOTS = 16_384;

/** A throw-away Redis Cluster of three masters, each with one replica. */
export interface RedisClusterServers extends RedisServers {
  masters: readonly number[];
  /** The port of the replica of each master, in the same order. */
  replicas: readonly number[];
}

/** Starts a Redis Cluster. A master that does not respond for a second is replaced by its replica. */
export async function startRedisCluster(extraLines: readonly string[] = []): Promise<RedisClusterServers> {
  const servers = await startRedisServers(6, (ports) =>
    ports.map((_, index) => [
      'cluster-enabled yes',
      `cluster-config-file nodes-${index}.conf`,
      'cluster-node-timeout 1000',
      'maxmemory-policy noeviction',
      ...extraLines,
    ]),
  );
  const [masters, replicas] = [servers.ports.slice(0, 3), servers.ports.slice(3)];
  const ids: string[] = [];
  for (const [index, port] of masters.entries()) {
    const [first, last] = [Math.ceil((SLOTS / 3) * index), Math.ceil((SLOTS / 3) * (index + 1)) - 1];
    const slots = Array.from({ length: last - first + 1 }, (_, i) => first + i);
    ids.push(
      await withRedis({ port }, async (redis) => {
        await redis.cluster('ADDSLOTS', ...slots);
        await redis.cluster('SET-CONFIG-EPOCH', index + 1);
        return (await redis.cluster('MYID')) as string;
      }),
    );
  }
  await withRedis({ port: masters[0]! }, async (redis) => {
    for (const port of servers.ports.slice(1)) await redis.cluster('MEET', '127.0.0.1', port);
  });
  for (const [index, port] of replicas.entries()) {
    await withRedis({ port }, (redis) =>
      waitUntil('The introduction of a replica', async () => (await redis.cluster('REPLICATE', ids[index]!)) === 'OK'),
    );
  }
  for (const [index, port] of servers.ports.entries()) {
    await withRedis({ port }, (redis) =>
      waitUntil('The creation of the cluster', async () => {
        const nodes = String(await redis.cluster('NODES'))
          .trim()
          .split('\n');
        const isSynchronized = index < 3 || (await redis.info('replication')).includes('master_link_status:up');
        const isComplete = nodes.filter((line) => line.includes('slave')).length === 3;
        return isComplete && isSynchronized && String(await redis.cluster('INFO')).includes('cluster_state:ok');
      }),
    );
  }
  return { ...servers, masters, replicas };
}
