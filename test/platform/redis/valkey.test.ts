import { expect, onTestFinished, test } from 'vitest';
import { startRedisServers, withRedis } from '../../../scripts/services/redis-servers.ts';
import { findRedis } from '../../../src/dev-servers/redis-binary.ts';
import { startTwoProcesses } from './two-processes.ts';

const valkey = findRedis('valkey-server');

test.skipIf(valkey === undefined)(
  `with Valkey everything works across two processes${valkey === undefined ? ' (this machine has no valkey-server)' : ''}`,
  async () => {
    const servers = await startRedisServers(1, () => [['maxmemory-policy noeviction']], valkey!);
    onTestFinished(() => servers.stop());
    const [port] = servers.ports;
    expect(await withRedis({ port: port! }, (redis) => redis.info('server'))).toContain('valkey_version');
    const processes = await startTwoProcesses({ REDIS_URL: `redis://127.0.0.1:${port}` });
    await processes.checkEverything();
  },
);
