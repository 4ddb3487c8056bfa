import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/platform/observability/log.ts';
import { openRedis } from '../../../src/platform/redis/connections.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';

async function openTestRedis() {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const redis = openRedis({ urls: [database.redisUrl] }, createLogger('silent', 'test'));
  onTestFinished(() => redis.close());
  return redis;
}

test('the connection for commands opens again, even if the client has given up', async () => {
  const { commands } = await openTestRedis();
  await commands.connect();
  for (let i = 0; i < 3; i++) {
    const isReady = once(commands, 'ready');
    commands.disconnect();
    await isReady;
    expect(await commands.ping()).toBe('PONG');
  }
});

test('close ends all connections, also those that were closed and opened again meanwhile', async () => {
  const redis = await openTestRedis();
  const blocking = redis.createBlockingConnection();
  await Promise.all([redis.commands.connect(), blocking.ping()]);
  blocking.disconnect();
  await once(blocking, 'end');
  await blocking.connect();
  const ended = Promise.all([once(redis.commands, 'end'), once(blocking, 'end')]);
  await redis.close();
  await ended;
  await expect(redis.commands.ping()).rejects.toThrow('Connection is closed');
});
