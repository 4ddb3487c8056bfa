import { afterAll, expect, test, vi } from 'vitest';
import { openRedis, type RedisConnections } from '../../../../src/platform/data/redis/connections.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { createProcessRegistry } from '../../../../src/platform/work/processes/registry.ts';
import { createSlowLog } from '../../../../src/platform/work/processes/slow-log.ts';
import { createTestDatabase } from '../../../support/database/test-database.ts';

const database = await createTestDatabase();
const log = createLogger('silent', 'test');
const opened: RedisConnections[] = [];
afterAll(async () => {
  for (const redis of opened) await redis.close();
  await database.drop();
});

const settingsOf = (url: string) => ({ urls: [url], cluster: false, sentinels: undefined, ca: undefined });

/** The registry of a process of its own. */
async function openRegistry(version: string, url = database.redisUrl) {
  const redis = openRedis(settingsOf(url) as never, log);
  opened.push(redis);
  await redis.commands.connect().catch(() => undefined);
  const slowLog = createSlowLog({ requestMs: 0, statementMs: 0 });
  const identity = { version, appVersion: undefined };
  const registry = createProcessRegistry(redis.commands, database.redisPrefix, log, slowLog, identity);
  return { registry, slowLog };
}

test('processes see each other with their facts and slow entries until they stop', async () => {
  const a = await openRegistry('1.0.0');
  const b = await openRegistry('1.0.1');
  a.registry.report('queues', () => [{ name: 'mail', running: 2, concurrency: 5, failures: [] }]);
  b.slowLog.addStatement('select a', 300, 1);
  a.registry.start(['relay']);
  b.registry.start(['web']);
  b.registry.start(['push-worker']);
  await Promise.all([a.registry.refresh(), b.registry.refresh()]);
  await b.registry.refresh();

  const { processes, queues } = await a.registry.list({ withSlow: true });
  const versions = processes.map(({ version, roles }) => `${version} ${roles?.join()}`).sort();
  expect(versions).toEqual(['1.0.0 relay', '1.0.1 web,push-worker']);
  expect(processes.find(({ version }) => version === '1.0.1')?.slow?.statements).toMatchObject([{ text: 'select a' }]);
  expect(queues).toEqual(['mail']);

  await b.registry.stop();
  expect((await a.registry.list()).processes).toHaveLength(1);
  await a.registry.stop();
});

test('a notice reaches each process once: the own one at once, others with their next heartbeat', async () => {
  const a = await openRegistry('1.0.0');
  const b = await openRegistry('1.0.0');
  const [heardByA, heardByB] = [vi.fn(), vi.fn()];
  a.registry.onNotice('limit cleared', heardByA);
  b.registry.onNotice('limit cleared', heardByB);
  a.registry.start(['web']);
  b.registry.start(['web']);
  await Promise.all([a.registry.refresh(), b.registry.refresh()]);
  const notice = { name: 'all', windowMs: 1000, client: '10.0.0.1' };
  await a.registry.notify('limit cleared', notice);
  expect(heardByA).toHaveBeenCalledExactlyOnceWith(notice);
  await Promise.all([a.registry.refresh(), b.registry.refresh()]);
  await Promise.all([a.registry.refresh(), b.registry.refresh()]);
  expect(heardByA).toHaveBeenCalledTimes(1);
  expect(heardByB).toHaveBeenCalledExactlyOnceWith(notice);
  await Promise.all([a.registry.stop(), b.registry.stop()]);
});

test('a feature that cannot describe itself does not end the process, which writes its state as soon as it can', async () => {
  const { registry } = await openRegistry('2.0.0');
  let isBroken = true;
  registry.report('queues', () => {
    if (isBroken) throw new Error('cannot be described');
    return [];
  });
  registry.start(['web']);
  await registry.refresh();
  expect((await registry.list()).processes).toEqual([]);
  isBroken = false;
  await registry.refresh();
  expect((await registry.list()).processes).toMatchObject([{ version: '2.0.0' }]);
  await registry.stop();
});

test('without Redis a process starts, writes and stops as usual, and only reads fail', async () => {
  const { registry } = await openRegistry('1.0.0', 'redis://127.0.0.1:1');
  registry.start(['web']);
  await registry.refresh();
  await expect(registry.list()).rejects.toThrow();
  await registry.stop();
});
