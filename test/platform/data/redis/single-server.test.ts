// One server: with TLS and a user with few permissions, and with Valkey instead of Redis.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { createTlsFiles } from '../../../../scripts/services/certificates.ts';
import { startRedisServers, tlsLines, withRedis } from '../../../../scripts/services/redis-servers.ts';
import { findRedis } from '../../../../src/dev-servers/redis-binary.ts';
import { createApp, defineUser } from '../../../../src/index.ts';
import { openRedis } from '../../../../src/platform/data/redis/connections.ts';
import { aclRuleOf } from '../../../../src/platform/data/redis/problems.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { readEnvironment } from '../../../../src/platform/settings/environment.ts';
import { startTwoProcesses } from './two-processes.ts';

const folder = mkdtempSync(join(tmpdir(), 'belfry-tls-'));
afterAll(() => rmSync(folder, { recursive: true }));
const TLS = createTlsFiles(folder);
const prefix = 'bell-with-permissions';
const servers = await startRedisServers(2, (ports) => [
  [
    'port 0',
    ...tlsLines(ports[0]!, TLS),
    'maxmemory-policy noeviction',
    'user default off',
    `user bell on >ring resetchannels ${aclRuleOf(prefix)}`,
    'user silent on >ring ~* resetchannels +@all -eval -evalsha',
  ],
  [
    'port 0',
    ...tlsLines(ports[1]!, TLS),
    // Sentinels connect to servers with TLS if replicas do.
    'tls-replication yes',
    `sentinel monitor mymaster 127.0.0.1 ${ports[0]} 1`,
    'sentinel auth-user mymaster bell',
    'sentinel auth-pass mymaster ring',
    'requirepass knock',
  ],
]);
afterAll(() => servers.stop());
const [port, sentinelPort] = servers.ports;
const redis = { REDIS_URL: `rediss://bell:ring@localhost:${port}/0`, REDIS_CA: TLS.ca, REDIS_PREFIX: prefix };
const processes = await startTwoProcesses(redis);

/** Starts an app that is expected to refuse, and returns the message. */
async function refusal(env: Record<string, string>): Promise<string> {
  const { DATABASE_URL = '' } = processes.env;
  const app = createApp({ resources: [defineUser()] }, { NODE_ENV: 'test', DATABASE_URL, ...redis, ...env });
  onTestFinished(() => app.close());
  return app.start({ port: 0 }).then(
    () => 'started',
    (error: Error) => error.message,
  );
}

test('with a private authority and a user that has only the documented permissions, everything works', async () => {
  await processes.checkEverything();
});

test('the authority may also be given as text, and a server that is no cluster is refused as one', async () => {
  expect(await refusal({ REDIS_CA: readFileSync(TLS.ca, 'utf8'), REDIS_CLUSTER: 'on' })).toContain(
    'is not a Redis Cluster: remove REDIS_CLUSTER=on',
  );
});

test('Sentinels are checked against the authority too, and may have a password of their own', async () => {
  const env = { REDIS_URL: 'rediss://bell:ring@redis/0', REDIS_SENTINELS: `localhost:${sentinelPort}` };
  expect(await refusal({ ...env, REDIS_SENTINEL_PASSWORD: 'knock' })).toBe('started');
  expect(await refusal({ ...env, REDIS_SENTINEL_PASSWORD: 'wrong' })).toContain('check REDIS_SENTINEL_PASSWORD');
});

test('a start that Redis refuses fails, and the error says how to fix it', async () => {
  const at = `localhost:${port}`;
  const cases: [Record<string, string>, RegExp][] = [
    [{ REDIS_CA: '' }, /cannot be trusted: .*set REDIS_CA/],
    [{ REDIS_URL: `rediss://bell:wrong@${at}` }, /refuses the user name or password/],
    [{ REDIS_URL: `rediss://${at}` }, /needs a password/],
    [{ REDIS_PREFIX: 'other' }, /the user lacks a permission .*~other:\* &other:\*/],
    [{ REDIS_URL: `rediss://silent:ring@${at}` }, /the user lacks a permission/],
  ];
  await Promise.all(cases.map(async ([env, message]) => expect(await refusal(env)).toMatch(message)));
});

// Vitest reports what would end the process.
test('closing a connection to a server that is not trusted, during the handshake, does not end the process', async () => {
  const { redis: settings } = readEnvironment({
    NODE_ENV: 'test',
    DATABASE_URL: 'postgres://none',
    ...redis,
    REDIS_CA: '',
  });
  for (let i = 0; i < 10; i++) {
    const opened = openRedis(settings, createLogger('silent', 'test'));
    const connection = opened.createBlockingConnection() as Redis;
    const ended = new Promise<void>((resolve) => connection.on('end', resolve));
    await vi.waitUntil(() => connection.stream !== undefined, { interval: 0 });
    await opened.close();
    await ended;
    await vi.waitUntil(() => connection.stream.closed, { interval: 1 });
  }
});

const valkey = findRedis('valkey-server');

test.skipIf(valkey === undefined)(
  `with Valkey everything works across two processes${valkey === undefined ? ' (this machine has no valkey-server)' : ''}`,
  async () => {
    const own = await startRedisServers(1, () => [['maxmemory-policy noeviction']], valkey!);
    onTestFinished(() => own.stop());
    const [port] = own.ports;
    expect(await withRedis({ port: port! }, (redis) => redis.info('server'))).toContain('valkey_version');
    const processes = await startTwoProcesses({ REDIS_URL: `redis://127.0.0.1:${port}` });
    await processes.checkEverything();
  },
);
