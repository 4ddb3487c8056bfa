import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type RedisServers, startRedisServers, withRedis } from '../../../../scripts/services/redis-servers.ts';
import { createClient } from '../../../support/app.ts';
import { createTestDatabase } from '../../../support/database/test-database.ts';
import { BARE_ENV, startBlog } from '../../../support/processes/app-process.ts';
import { startTcpProxy } from '../../../support/tcp-proxy.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());
let servers: RedisServers;
beforeAll(async () => {
  servers = await startRedisServers(2, () => [['maxmemory-policy noeviction'], []]);
  return () => servers.stop();
});
vi.setConfig({ testTimeout: 240_000 });

const send = (...commands: [string, ...string[]][]) =>
  withRedis({ port: servers.ports[0]! }, async (redis) => {
    for (const [command, ...args] of commands) await redis.call(command, ...args);
  });
const countErrors = () =>
  withRedis({ port: servers.ports[0]! }, async (redis) =>
    Number(/total_error_replies:(\d+)/.exec(await redis.info('stats'))![1]),
  );
const env = (REDIS_URL: string) => ({
  ...BARE_ENV,
  NODE_ENV: 'development',
  LOG_LEVEL: 'warn',
  PORT: '0',
  DATABASE_URL: database.databaseUrl,
  REDIS_URL,
  REDIS_PREFIX: database.redisPrefix,
});
const patience = { timeout: 60_000, interval: 100 };

/** A process with all roles that reaches Redis through a proxy. */
async function startProcess() {
  const proxy = await startTcpProxy(new URL(`redis://127.0.0.1:${servers.ports[0]}`));
  onTestFinished(() => proxy.close());
  const one = startBlog('web', env(proxy.url) as Record<string, string>);
  const call = createClient(await one.url());
  const untilReadyIs = (status: string) =>
    vi.waitUntil(async () => (await call('GET', '/readyz')).body.status === status, patience);
  await untilReadyIs('ok');
  return { ...one, proxy, call, untilReadyIs };
}

test.each([
  ['a full memory', [['CONFIG', 'SET', 'maxmemory', '1']], [['CONFIG', 'SET', 'maxmemory', '0']]],
  [
    'missing permissions',
    [['ACL', 'SETUSER', 'default', '-evalsha', '-eval', '-bzpopmin']],
    [['ACL', 'SETUSER', 'default', '+@all']],
  ],
  ['a read-only replica', [['REPLICAOF', '127.0.0.1', '1']], [['REPLICAOF', 'NO', 'ONE']]],
] as const)('with %s a process does not flood Redis or the log, and stops on SIGTERM', async (_, begin, end) => {
  const web = await startProcess();
  onTestFinished(() => send(...(end as unknown as [string, ...string[]][])));
  const before = await countErrors();
  await send(...(begin as unknown as [string, ...string[]][]));
  await web.untilReadyIs('degraded');
  for (let i = 0; i < 30; i++) {
    await web.call('GET', '/readyz');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  // A loop without pauses would cause many thousands.
  expect((await countErrors()) - before).toBeLessThan(1000);
  expect(web.output().split('\n').length).toBeLessThan(100);
  web.child.kill('SIGTERM');
  // 1 would mean that it was given up.
  expect(await web.ended, web.output()).toBe(0);
});

test.each(['shut', 'hang'] as const)('a process whose Redis is down (%s) stops on SIGTERM', async (how) => {
  const web = await startProcess();
  web.proxy[how]();
  await web.untilReadyIs('degraded');
  web.child.kill('SIGTERM');
  expect(await web.ended, web.output()).toBe(0);
});

test.each(['shut', 'hang'] as const)(
  'a process whose Redis is down (%s) from the start stops on SIGTERM',
  async (how) => {
    const proxy = await startTcpProxy(new URL(`redis://127.0.0.1:${servers.ports[0]}`));
    onTestFinished(() => proxy.close());
    proxy[how]();
    const web = startBlog('web', env(proxy.url) as Record<string, string>);
    await vi.waitUntil(() => /cannot be reached|does not respond/.test(web.output()), patience);
    web.child.kill('SIGTERM');
    expect(await web.ended, web.output()).toBe(0);
  },
);
