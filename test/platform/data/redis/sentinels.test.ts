import { afterAll, expect, test } from 'vitest';
import { startRedisSentinels } from '../../../../scripts/services/redis-sentinels.ts';
import { waitUntil, withRedis } from '../../../../scripts/services/redis-servers.ts';
import { createApp, defineUser } from '../../../../src/index.ts';
import { startTwoProcesses } from './two-processes.ts';

const password = 'a-secret';
const servers = await startRedisSentinels(password);
afterAll(() => servers.stop());
const redis = {
  REDIS_URL: `redis://:${password}@ignored.example.com/2`,
  REDIS_SENTINELS: servers.sentinels.map((port) => `127.0.0.1:${port}`).join(', '),
  REDIS_SENTINEL_MASTER: 'bell',
};
const processes = await startTwoProcesses(redis);

const waitForNewMaster = (old: number) => waitUntil('The failover', async () => (await servers.findMaster()) !== old);

test('with Sentinels everything works across two processes, in the database of REDIS_URL', async () => {
  await processes.checkEverything();
  const keys = await withRedis({ port: await servers.findMaster(), password, db: 2 }, (master) =>
    master.keys(`${processes.env.REDIS_PREFIX}:*`),
  );
  expect(keys.length).toBeGreaterThan(0);
});

test('when the master becomes a replica, the processes continue with the new master and nothing is lost', async () => {
  const old = await servers.findMaster();
  const delivering = processes.deliver(40);
  await withRedis({ port: servers.sentinels[0]!, enableReadyCheck: false }, (sentinel) =>
    sentinel.call('SENTINEL', 'FAILOVER', 'bell'),
  );
  await waitForNewMaster(old);
  await delivering;
  await processes.checkEverything();
});

test('when the master dies, the processes continue with the new master and nothing is lost', async () => {
  const old = await servers.findMaster();
  const delivering = processes.deliver(40);
  await withRedis({ port: old, password }, (master) => master.call('SHUTDOWN', 'NOSAVE').catch(() => undefined));
  await waitForNewMaster(old);
  await delivering;
  await processes.checkEverything();
});

test('a master that the Sentinels do not know prevents the start, and the error names it', async () => {
  const { DATABASE_URL } = processes.env;
  const env = { NODE_ENV: 'test', DATABASE_URL: DATABASE_URL!, ...redis, REDIS_SENTINEL_MASTER: 'gong' };
  const app = createApp({ resources: [defineUser()] }, env);
  await expect(app.start({ port: 0 })).rejects.toThrow(/Redis at gong \(Sentinels .*\) is unknown to the Sentinels/);
  await app.close();
});

test('a Sentinel in REDIS_URL prevents the start, and the error names the setting for Sentinels', async () => {
  const { DATABASE_URL } = processes.env;
  const REDIS_URL = `redis://127.0.0.1:${servers.sentinels[0]}`;
  const app = createApp({ resources: [defineUser()] }, { NODE_ENV: 'test', DATABASE_URL: DATABASE_URL!, REDIS_URL });
  await expect(app.start({ port: 0 })).rejects.toThrow(/is a Sentinel: .*REDIS_SENTINELS/);
  await app.close();
});
