// The record of users' writes in Redis: when it can be trusted, and when it may lack a write.
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, expect, test } from 'vitest';
import { startRedisServers, waitUntil, withRedis } from '../../../../scripts/services/redis-servers.ts';
import { createOwnWrites } from '../../../../src/platform/data/replica/own-writes.ts';
import { createReplicaProgress } from '../../../../src/platform/data/replica/progress.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { trustRedis } from '../../../support/database/replicated-postgres.ts';

const servers = await startRedisServers(2, (ports) => [[], [`replicaof 127.0.0.1 ${ports[0]}`]]);
afterAll(() => servers.stop());
const port = servers.ports[0]!;
const url = `redis://127.0.0.1:${port}`;
const clients: Redis[] = [];
afterAll(() => {
  for (const client of clients) client.disconnect();
});

/** Creates the record of one process. `failOver` reports a failover to it. */
async function createProcess(prefix: string) {
  const commands = new Redis(url);
  clients.push(commands);
  await commands.ping();
  const log = createLogger('silent', 'test');
  let failOver = () => {};
  const redis = {
    commands,
    onPossibleFailover(listener: () => void) {
      failOver = listener;
    },
  };
  const options = { redis, prefix, keepMs: 600_000, progress: createReplicaProgress(), log };
  const writes = createOwnWrites(options);
  return { writes, failOver };
}

const createPrefix = () => `own-${randomBytes(4).toString('hex')}`;

/** Creates the records of two processes that trust Redis. */
async function createTwo() {
  const prefix = createPrefix();
  await trustRedis(prefix, url);
  const two = [await createProcess(prefix), await createProcess(prefix)] as const;
  for (const { writes } of two) await writes.check();
  return two;
}

test('a write of one process is found by another, for its user only', async () => {
  const [a, b] = await createTwo();
  a.writes.add('ann');
  await waitUntil('The write', async () => (await b.writes.find('ann')) === Number.POSITIVE_INFINITY);
  expect(await b.writes.find('ben')).toBeUndefined();
});

test.each([
  ['is full', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
  ['is read-only', ['REPLICAOF', '127.0.0.1', String(servers.ports[1])], ['REPLICAOF', 'NO', 'ONE']],
] as const)('while Redis %s, no process trusts it, although it replies to reads', async (_state, begin, end) => {
  const [, reader] = await createTwo();
  const send = ([command, ...args]: readonly [string, ...string[]]) =>
    withRedis({ port }, (redis) => redis.call(command, ...args));
  expect(await reader.writes.find('ann')).toBeUndefined();
  await send(begin);
  try {
    await reader.writes.check();
    expect(await reader.writes.find('ann')).toBe('unknown');
  } finally {
    await send(end);
  }
  // Writes of the time between are missing for as long as they would have been kept.
  await reader.writes.check();
  expect(await reader.writes.find('ann')).toBe('unknown');
});

test('after a possible failover, and after a lost connection, writes may be missing', async () => {
  const [a, b] = await createTwo();
  a.failOver();
  expect(await a.writes.find('ann')).toBe('unknown');
  expect(await b.writes.find('ann')).toBeUndefined();
  await withRedis({ port }, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));
  await waitUntil('The reconnect', async () => (await b.writes.find('ann')) === 'unknown');
});

test('a process that starts where no process has watched Redis does not trust it at once', async () => {
  const { writes } = await createProcess(createPrefix());
  await writes.check();
  expect(await writes.find('ann')).toBe('unknown');
});
