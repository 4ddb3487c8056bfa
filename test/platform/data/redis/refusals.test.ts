import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { startRedisServers, waitUntil, withRedis } from '../../../../scripts/services/redis-servers.ts';
import { createApp, defineUser } from '../../../../src/index.ts';
import { createClient } from '../../../support/app.ts';
import { createTestDatabase } from '../../../support/database/test-database.ts';
import { startTwoProcesses } from './two-processes.ts';

const PRIMARY = 0;
const REPLICA = 1;
const FULL = 2;
const EVICTING = 3;
const servers = await startRedisServers(4, (ports) => [
  ['maxmemory-policy noeviction', 'repl-diskless-sync-delay 0'],
  [`replicaof 127.0.0.1 ${ports[PRIMARY]}`],
  ['maxmemory-policy noeviction', 'maxmemory 100kb'],
  ['maxmemory-policy allkeys-lru'],
]);
afterAll(() => servers.stop());
const database = await createTestDatabase();
afterAll(() => database.drop());
const portOf = (server: number) => servers.ports[server]!;
const urlOf = (server: number) => `redis://127.0.0.1:${portOf(server)}`;

function createOwnApp(server: number, env: Record<string, string> = {}) {
  const own = { NODE_ENV: 'test', DATABASE_URL: database.databaseUrl, REDIS_URL: urlOf(server), ...env };
  const app = createApp({ resources: [defineUser()] }, own);
  onTestFinished(() => app.close());
  return app;
}

test.each([
  [REPLICA, 'is a read-only replica: REDIS_URL must name the primary server'],
  [FULL, 'is full: raise its maxmemory'],
])('a start with a Redis that refuses writes fails, and the error says why (%i)', async (server, message) => {
  if (server === REPLICA) {
    await withRedis({ port: portOf(server) }, (redis) =>
      waitUntil('The synchronization', async () => (await redis.info('replication')).includes('link_status:up')),
    );
  }
  await expect(createOwnApp(server).start({ port: 0 })).rejects.toThrow(
    `Redis at 127.0.0.1:${portOf(server)} ${message}`,
  );
});

test('a Redis that may delete keys causes a warning with the fix', async () => {
  const lines: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((line) => Boolean(lines.push(String(line))));
  onTestFinished(() => write.mockRestore());
  const app = createOwnApp(EVICTING, { LOG_LEVEL: 'warn' });
  await app.migrate({ mode: 'sync' });
  await app.start({ port: 0, roles: ['web'] });
  expect(lines.join('')).toContain('Set maxmemory-policy noeviction');
});

/** Errors that a running Redis begins to return, and how it stops. */
const STATES: Record<string, { begin: [string, ...string[]][]; end: [string, ...string[]][] }> = {
  READONLY: {
    begin: [['REPLICAOF', '127.0.0.1', String(portOf(REPLICA))]],
    end: [['REPLICAOF', 'NO', 'ONE']],
  },
  OOM: { begin: [['CONFIG', 'SET', 'maxmemory', '1']], end: [['CONFIG', 'SET', 'maxmemory', '0']] },
  NOPERM: {
    begin: [['ACL', 'SETUSER', 'default', '-evalsha', '-eval', '-bzpopmin']],
    end: [['ACL', 'SETUSER', 'default', '+@all']],
  },
};

test('while Redis answers errors, requests continue, /readyz says so, and afterwards everything works by itself', async () => {
  const processes = await startTwoProcesses({ REDIS_URL: urlOf(PRIMARY) });
  const send = (commands: readonly [string, ...string[]][]) =>
    withRedis({ port: portOf(PRIMARY) }, async (redis) => {
      for (const [command, ...args] of commands) await redis.call(command, ...args);
    });
  const readiness = async () => (await createClient(processes.urls[0])('GET', '/readyz')).body;
  for (const state of ['OOM', 'NOPERM', 'READONLY'] as const) {
    await send(STATES[state]!.begin);
    await vi.waitUntil(async () => (await readiness()).checks.redis === 'failed', { timeout: 60_000, interval: 50 });
    const delivering = processes.deliver(5);
    await send(STATES[state]!.end);
    await delivering;
    await processes.checkEverything();
  }
});
