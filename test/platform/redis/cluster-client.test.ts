import { expect, onTestFinished, test, vi } from 'vitest';
import { startRedisServers, waitUntil, withRedis } from '../../../scripts/services/redis-servers.ts';
import { createLogger } from '../../../src/platform/observability/log.ts';
import { openRedis } from '../../../src/platform/redis/connections.ts';

test('connecting to a cluster that is down fails at once, and the client connects by itself when the cluster is up', async () => {
  const servers = await startRedisServers(1, () => [['cluster-enabled yes', 'cluster-announce-ip 127.0.0.1']]);
  onTestFinished(() => servers.stop());
  const [port] = servers.ports;
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
