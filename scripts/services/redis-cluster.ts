import type { TlsFiles } from './certificates.ts';
import { type RedisServers, startRedisServers, tlsLines, waitUntil, withRedis } from './redis-servers.ts';

const SLOTS = 16_384;
const NODES = 6;

/** A throw-away Redis Cluster of three masters, each with one replica. */
export interface RedisClusterServers extends RedisServers {
  /** The ports of all nodes, without TLS: three masters, then three replicas. */
  nodes: readonly number[];
  masters: readonly number[];
  /** The port of the replica of each master, in the same order. */
  replicas: readonly number[];
  /** The ports of all nodes with TLS, in the order of `nodes`. */
  tlsPorts: readonly number[];
}

/**
 * Starts a Redis Cluster. A master that does not respond for three seconds is replaced by its replica.
 *
 * @param tls the certificate of all nodes; they use TLS among each other, and also listen without TLS
 * @param extraLines further lines of the configuration of each node
 */
export async function startRedisCluster(
  tls: TlsFiles,
  extraLines: readonly string[] = [],
): Promise<RedisClusterServers> {
  const servers = await startRedisServers(2 * NODES, (ports) =>
    ports
      .slice(0, NODES)
      .map((_, index) => [
        'cluster-enabled yes',
        `cluster-config-file nodes-${index}.conf`,
        'cluster-node-timeout 3000',
        'maxmemory-policy noeviction',
        ...tlsLines(ports[NODES + index]!, tls),
        'tls-cluster yes',
        'tls-replication yes',
        ...extraLines,
      ]),
  );
  const nodes = servers.ports.slice(0, NODES);
  const [masters, replicas, tlsPorts] = [nodes.slice(0, 3), nodes.slice(3), servers.ports.slice(NODES)];
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
  await withRedis({ port: masters[0]! }, (redis) =>
    waitUntil('The introduction of the nodes', async () => {
      const met = String(await redis.cluster('NODES'))
        .split('\n')
        .filter((line) => line.includes('connected') && !line.includes('handshake'));
      // Nodes that take longer than the timeout of the cluster forget each other.
      for (const port of tlsPorts.filter((tlsPort) => !met.some((line) => line.includes(`:${tlsPort}@`))))
        await redis.cluster('MEET', '127.0.0.1', port);
      return met.length === NODES;
    }),
  );
  for (const [index, port] of replicas.entries()) {
    await withRedis({ port }, (redis) =>
      waitUntil('The introduction of a replica', async () => (await redis.cluster('REPLICATE', ids[index]!)) === 'OK'),
    );
  }
  for (const [index, port] of nodes.entries()) {
    await withRedis({ port }, (redis) =>
      waitUntil('The creation of the cluster', async () => {
        const lines = String(await redis.cluster('NODES'))
          .trim()
          .split('\n');
        const isSynchronized = index < 3 || (await redis.info('replication')).includes('master_link_status:up');
        const isComplete = lines.filter((line) => line.includes('slave')).length === 3;
        return isComplete && isSynchronized && String(await redis.cluster('INFO')).includes('cluster_state:ok');
      }),
    );
  }
  return { ...servers, nodes, masters, replicas, tlsPorts };
}
