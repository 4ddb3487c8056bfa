import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from 'ioredis';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { createTlsFiles } from '../../../../scripts/services/certificates.ts';
import { startRedisCluster } from '../../../../scripts/services/redis-cluster.ts';
import { startRedisServers, waitUntil, withRedis } from '../../../../scripts/services/redis-servers.ts';
import { createApp, defineUser } from '../../../../src/index.ts';
import { openRedis } from '../../../../src/platform/data/redis/connections.ts';
import { aclRuleOf } from '../../../../src/platform/data/redis/problems.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { startTwoProcesses } from './two-processes.ts';

const folder = mkdtempSync(join(tmpdir(), 'belfry-tls-'));
afterAll(() => rmSync(folder, { recursive: true }));
const TLS = createTlsFiles(folder);
const prefix = 'bell-in-a-cluster';
const servers = await startRedisCluster(TLS, [`user bell on >ring resetchannels ${aclRuleOf(prefix)}`]);
afterAll(() => servers.stop());
const REDIS_URL = servers.tlsPorts.slice(0, 2).map((port) => `rediss://bell:ring@localhost:${port}`);
const processes = await startTwoProcesses({
  REDIS_URL: REDIS_URL.join(','),
  REDIS_CLUSTER: 'on',
  REDIS_CA: TLS.ca,
  REDIS_PREFIX: prefix,
});

test('on a Redis Cluster with TLS and a user with the documented permissions, everything works across two processes', async () => {
  await processes.checkEverything();
});

test('queues and counters are spread over the masters', async () => {
  await processes.deliver(5);
  // Only queues that have had a job have keys.
  await processes.sendTest();
  const keysByMaster = await Promise.all(
    servers.masters.map((port) => withRedis({ port }, (redis) => redis.keys(`${prefix}:*`))),
  );
  expect(keysByMaster.filter((keys) => keys.length > 0).length).toBeGreaterThan(1);
  const queues = keysByMaster.map((keys) => new Set(keys.flatMap((key) => /:\{([a-z-]+)\}:/.exec(key)?.[1] ?? [])));
  // All keys of a queue are on one master, but not all queues.
  const names = queues.flatMap((queue) => [...queue]);
  expect(new Set(names).size).toBe(names.length);
  expect(queues.filter((queue) => queue.size > 0).length).toBeGreaterThan(1);
});

/** Returns the hash slot of the queue of webhooks, and the port of its master. */
async function findQueue(): Promise<{ slot: number; master: number }> {
  const cluster = new Cluster(servers.nodes.map((port) => ({ host: '127.0.0.1', port })));
  const slot = (await cluster.cluster('KEYSLOT', `${prefix}:{webhooks}`)) as number;
  const master = Number(cluster.slots[slot]![0]!.split(':')[1]);
  cluster.disconnect();
  return { slot, master };
}

test('while the slot of a queue moves to another master, nothing is lost', async () => {
  const { slot, master } = await findQueue();
  const to = servers.masters.find((port) => port !== master)!;
  const tlsPort = servers.tlsPorts[servers.nodes.indexOf(to)]!;
  const idOf = (port: number) => withRedis({ port }, (redis) => redis.cluster('MYID') as Promise<string>);
  const [fromId, toId] = [await idOf(master), await idOf(to)];
  const delivering = processes.deliver(60);
  await withRedis({ port: master }, (source) =>
    withRedis({ port: to }, async (target) => {
      await target.cluster('SETSLOT', slot, 'IMPORTING', fromId);
      await source.cluster('SETSLOT', slot, 'MIGRATING', toId);
      for (;;) {
        const keys = (await source.cluster('GETKEYSINSLOT', slot, 100)) as string[];
        if (keys.length === 0) break;
        for (const key of keys) await source.migrate('127.0.0.1', tlsPort, key, 0, 5000);
      }
      for (const redis of [target, source]) await redis.cluster('SETSLOT', slot, 'NODE', toId);
    }),
  );
  await delivering;
  expect((await findQueue()).master).not.toBe(master);
  await processes.checkEverything();
});

test('while a master hangs, its replica takes over and nothing is lost', async () => {
  const { master } = await findQueue();
  const pid = await withRedis({ port: master }, async (redis) =>
    Number(/process_id:(\d+)/.exec(await redis.info('server'))![1]),
  );
  const delivering = processes.deliver(40);
  process.kill(pid, 'SIGSTOP');
  try {
    await delivering;
    // A worker that holds the endpoint's lease sends without the queue, so the deliveries may be faster than the replica.
    await withRedis({ port: servers.nodes.find((port) => port !== master)! }, (redis) =>
      waitUntil('The takeover by the replica', async () => {
        const ranges = await redis.cluster('SLOTS');
        return ranges.every(([, , node]) => node?.[1] !== master);
      }),
    );
    await processes.checkEverything();
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  // The next test needs it as a replica.
  await withRedis({ port: master }, (redis) =>
    waitUntil('The return of the master as a replica', async () =>
      (await redis.info('replication')).includes('master_link_status:up'),
    ),
  );
});

test('when a master dies, its replica takes over and nothing is lost', async () => {
  const { master } = await findQueue();
  const delivering = processes.deliver(40);
  await withRedis({ port: master }, (redis) => redis.call('SHUTDOWN', 'NOSAVE').catch(() => undefined));
  await delivering;
  await processes.checkEverything();
});

test('without REDIS_CLUSTER the start is refused, and the error names the setting', async () => {
  const { DATABASE_URL } = processes.env;
  const [port] = servers.replicas;
  const app = createApp(
    { resources: [defineUser()] },
    { NODE_ENV: 'test', DATABASE_URL: DATABASE_URL!, REDIS_URL: `redis://127.0.0.1:${port}` },
  );
  await expect(app.start({ port: 0 })).rejects.toThrow(
    `Redis at 127.0.0.1:${port} is a node of a Redis Cluster: set REDIS_CLUSTER=on`,
  );
  await app.close();
});

test('connecting to a cluster that is down fails at once, and the client connects by itself when the cluster is up', async () => {
  const own = await startRedisServers(1, () => [['cluster-enabled yes', 'cluster-announce-ip 127.0.0.1']]);
  onTestFinished(() => own.stop());
  const [port] = own.ports;
  const changeSlots = (change: 'ADDSLOTSRANGE' | 'DELSLOTSRANGE', first: number, last: number, state: string) =>
    withRedis({ port: port! }, async (node) => {
      await node.call('CLUSTER', change, first, last);
      await waitUntil('The change of slots', async () => String(await node.cluster('INFO')).includes(state));
    });
  await changeSlots('ADDSLOTSRANGE', 0, 16_383, 'cluster_state:ok');
  const redis = openRedis({ urls: [`redis://127.0.0.1:${port}`], cluster: true }, createLogger('silent', 'test'));
  onTestFinished(() => redis.close());
  const client = redis.createBlockingConnection();
  await vi.waitUntil(() => client.status === 'ready');
  client.disconnect();
  await vi.waitUntil(() => client.status === 'end');

  await changeSlots('DELSLOTSRANGE', 0, 99, 'cluster_state:fail');
  await expect(client.connect()).rejects.toThrow('The Redis Cluster is not ready');

  const value = client.get('key');
  await changeSlots('ADDSLOTSRANGE', 0, 99, 'cluster_state:ok');
  expect(await value).toBeNull();
});
