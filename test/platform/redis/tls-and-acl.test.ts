import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { startRedisServers } from '../../../scripts/services/redis-servers.ts';
import { createApp, defineUser } from '../../../src/index.ts';
import { aclRuleOf } from '../../../src/platform/redis/problems.ts';
import { startTwoProcesses } from './two-processes.ts';

// Its certificate is for localhost and 127.0.0.1. A private authority signed it.
const tls = join(import.meta.dirname, '../../data/tls');
const CA = join(tls, 'push-ca.crt');

// The prefix of test databases begins like this.
const users = (prefix: string) => [
  'user default off',
  `user bell on >ring resetchannels ${aclRuleOf(prefix)}`,
  'user silent on >ring ~* resetchannels +@all -eval -evalsha',
];
const servers = await startRedisServers(1, (ports) => [
  [
    'port 0',
    `tls-port ${ports[0]}`,
    `tls-cert-file ${join(tls, 'push.crt')}`,
    `tls-key-file ${join(tls, 'push.key')}`,
    `tls-ca-cert-file ${CA}`,
    'tls-auth-clients no',
    'maxmemory-policy noeviction',
    ...users('acl-bell'),
  ],
]);
afterAll(() => servers.stop());
const [port] = servers.ports;
const redis = { REDIS_URL: `rediss://bell:ring@localhost:${port}/0`, REDIS_CA: CA, REDIS_PREFIX: 'acl-bell' };
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
  expect(await refusal({ REDIS_CA: readFileSync(CA, 'utf8'), REDIS_CLUSTER: 'on' })).toContain(
    'is not a Redis Cluster: remove REDIS_CLUSTER=on',
  );
});

test.each([
  ['an unknown authority', { REDIS_CA: '' }, /cannot be trusted: .*set REDIS_CA/],
  ['a wrong password', { REDIS_URL: `rediss://bell:wrong@localhost:${port}` }, /refuses the user name or password/],
  ['no password', { REDIS_URL: `rediss://localhost:${port}` }, /needs a password/],
  ['keys outside the permissions', { REDIS_PREFIX: 'other' }, /the user lacks a permission .*~other:\* &other:\*/],
  ['no permission for scripts', { REDIS_URL: `rediss://silent:ring@localhost:${port}` }, /the user lacks a permission/],
])('with %s the start is refused, and the error says how to fix it', async (_, env, message) => {
  expect(await refusal(env)).toMatch(message);
});
