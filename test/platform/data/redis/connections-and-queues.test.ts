import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { RedisQueueBackend } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { openRedis } from '../../../../src/platform/data/redis/connections.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { readEnvironment } from '../../../../src/platform/settings/environment.ts';
import { createQueues } from '../../../../src/platform/work/queues/queues.ts';
import { createTestDatabase } from '../../../support/database/test-database.ts';

const database = await createTestDatabase();
afterAll(() => database.drop());
const env = readEnvironment({
  NODE_ENV: 'test',
  DATABASE_URL: database.databaseUrl,
  REDIS_URL: database.redisUrl,
  REDIS_PREFIX: database.redisPrefix,
});
const log = createLogger('silent', 'test');
vi.setConfig({ testTimeout: 60_000 });
const until = (condition: () => unknown) => vi.waitUntil(condition, { timeout: 30_000, interval: 10 });

function openConnections() {
  const redis = openRedis(env.redis, log);
  onTestFinished(() => redis.close());
  return redis;
}

/** Opens the queues of another process. */
function open() {
  const redis = openConnections();
  const queues = createQueues(redis, env.redisPrefix, log);
  // Runs before the connections close.
  onTestFinished(() => queues.close());
  return { redis, queues };
}

test('the connection for commands opens again, even if the client has given up', async () => {
  const { commands } = openConnections();
  await commands.connect();
  for (let i = 0; i < 3; i++) {
    const isReady = once(commands, 'ready');
    commands.disconnect();
    await isReady;
    expect(await commands.ping()).toBe('PONG');
  }
});

test('close ends all connections, also those that were closed and opened again meanwhile', async () => {
  const redis = openConnections();
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

const job = (id: string) => ({ name: 'x', data: { id } });

test('announced jobs reach the listeners of their queue in all processes; others do not', async () => {
  const [first, second] = [open(), open()];
  const calls: string[] = [];
  first.queues.listen('a', (id) => calls.push(`first ${id}`));
  const stop = second.queues.listen('a', (id) => calls.push(`second ${id}`));
  second.queues.listen('b', (id) => calls.push(`other ${id}`));
  let sent = 0;
  // Announcements before a subscription are lost.
  await until(async () => {
    await first.queues.add('a', [job(`probe${sent++}`)], true);
    return calls.some((call) => call.startsWith('first')) && calls.some((call) => call.startsWith('second'));
  });
  await first.queues.add('a', [job('quiet')]);
  await second.queues.add('a', [job('1'), job('2')], true);
  await until(() => calls.includes('first 2') && calls.includes('second 2'));
  expect(calls.slice(-4).toSorted()).toEqual(['first 1', 'first 2', 'second 1', 'second 2']);
  expect(calls.filter((call) => call.includes('quiet') || call.startsWith('other'))).toEqual([]);
  stop();
  await second.queues.add('a', [job('3')], true);
  await until(() => calls.includes('first 3'));
  expect(calls).not.toContain('second 3');
});

test('subscriptions share a connection, which closes with the last of them', async () => {
  const { redis } = open();
  const seen: string[] = [];
  const one = redis.subscribe(`${env.redisPrefix}:one`, (message) => seen.push(`one ${message}`));
  const again = redis.subscribe(`${env.redisPrefix}:one`, (message) => seen.push(`again ${message}`));
  const two = redis.subscribe(`${env.redisPrefix}:two`, (message) => seen.push(`two ${message}`));
  await Promise.all([one.started, again.started, two.started]);
  await redis.commands.connect();
  const count = async () => {
    const list = String(await (redis.commands as { call(...args: string[]): Promise<unknown> }).call('client', 'list'));
    const channels = [...list.matchAll(/ sub=(\d+) /g)].map(([, number]) => Number(number));
    return channels.filter((number) => number > 0);
  };
  const before = await count();
  expect(before).toContain(2);
  one.stop();
  await redis.commands.publish(`${env.redisPrefix}:one`, 'x');
  await redis.commands.publish(`${env.redisPrefix}:two`, 'y');
  await until(() => seen.length === 2);
  expect(seen).toEqual(['again x', 'two y']);
  again.stop();
  two.stop();
  await until(async () => (await count()).length === before.length - 1);
});

test('a worker that may run more jobs starts waiting ones at once, while its other jobs still run', async () => {
  const { queues } = open();
  const started: string[] = [];
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const worker = queues.work(
    'raised',
    async ({ data }) => {
      started.push(data.id);
      await finished;
    },
    1,
  );
  onTestFinished(async () => {
    finish();
    await worker.stop();
  });
  await queues.add('raised', [job('1'), job('2'), job('3'), job('4')]);
  await until(() => started.length === 1);
  worker.setConcurrency(2);
  await until(() => started.length === 2);
  worker.setConcurrency(4);
  await until(() => started.length === 4);
  expect(started).toEqual(['1', '2', '3', '4']);
});

test('the jobs of a crashed worker are taken over', async () => {
  const { queues, redis } = open();
  const detection = { lockDuration: 500, stalledInterval: 250 };
  const crashed = open();
  const started: string[] = [];
  crashed.queues.work('crash', async () => new Promise(() => started.push('crashed')), 1, detection);
  await queues.add('crash', [job('1')]);
  await until(() => started.includes('crashed'));
  // The connections of a crashed worker close.
  await crashed.redis.close();
  const worker = queues.work('crash', async () => void started.push('taken over'), 1, detection);
  onTestFinished(() => worker.stop());
  await until(() => started.includes('taken over'));
  expect(redis.lastError()).toBeUndefined();
});

test('a worker checks for stalled jobs while jobs of other processes are active, and not for its own', async () => {
  const checks = vi.spyOn(RedisQueueBackend.prototype, 'moveStalledJobsToWait');
  onTestFinished(() => checks.mockRestore());
  const countChecksOf = (queue: string) =>
    checks.mock.contexts.filter((backend) => (backend as { name: string }).name === queue).length;
  // Long locks, so that no job counts as stalled.
  const detection = { lockDuration: 60_000, stalledInterval: 50 };
  const [one, other] = [open(), open()];
  const started: string[] = [];
  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  const run = async ({ data }: { data: { id: string } }) => {
    started.push(data.id);
    await finished;
  };
  const workers = [one.queues.work('own', run, 1, detection), other.queues.work('foreign', run, 1, detection)];
  await one.queues.add('own', [job('own')]);
  await one.queues.add('foreign', [job('foreign')]);
  await until(() => started.length === 2);
  workers.push(one.queues.work('foreign', run, 1, detection));
  onTestFinished(async () => {
    finish();
    await Promise.all(workers.map((worker) => worker.stop()));
  });
  checks.mockClear();
  await until(() => countChecksOf('foreign') >= 5);
  expect(countChecksOf('own')).toBe(0);
});

test('a job that begins after a check for stalled jobs is taken over if its worker crashes', async () => {
  const { queues } = open();
  const detection = { lockDuration: 500, stalledInterval: 50 };
  const lists = vi.spyOn(Redis.prototype, 'lrange');
  onTestFinished(() => lists.mockRestore());
  const started: string[] = [];
  const worker = queues.work('late', async () => void started.push('taken over'), 1, detection);
  onTestFinished(() => worker.stop());
  await until(() => lists.mock.calls.length > 0);
  const crashed = open();
  crashed.queues.work('late', async () => new Promise(() => started.push('crashed')), 1, detection);
  for (let id = 1; !started.includes('crashed'); id++) {
    const count = started.length;
    await queues.add('late', [job(`${id}`)]);
    await until(() => started.length > count);
  }
  await crashed.redis.close();
  const before = started.length;
  await until(() => started.length > before);
  expect(started.at(-1)).toBe('taken over');
});

test('the lock of a job is renewed while the job runs, also if no other job ran before', async () => {
  const renewals = vi.spyOn(RedisQueueBackend.prototype, 'extendLocks');
  onTestFinished(() => renewals.mockRestore());
  const { queues } = open();
  const done: string[] = [];
  const worker = queues.work(
    'renewed',
    async ({ data }) => {
      const before = renewals.mock.calls.length;
      await until(() => renewals.mock.calls.length >= before + 3);
      done.push(data.id);
    },
    1,
    { lockDuration: 400, stalledInterval: 100 },
  );
  onTestFinished(() => worker.stop());
  await queues.add('renewed', [job('1')]);
  await until(() => done.length === 1);
  await queues.add('renewed', [job('2')]);
  await until(() => done.length === 2);
  expect(done).toEqual(['1', '2']);
});

test('a worker that waited in vain searches its queue only if it has a job, which may have lost its wake-up', async () => {
  const searches = vi.spyOn(RedisQueueBackend.prototype, 'moveToActive');
  // No wake-up arrives.
  const waits = vi.spyOn(RedisQueueBackend.prototype, 'waitForJob').mockImplementation(async () => {
    await setImmediate();
    return null;
  });
  onTestFinished(() => void vi.restoreAllMocks());
  const { queues } = open();
  const done: string[] = [];
  const worker = queues.work('searched', async ({ data }) => void done.push(data.id), 1);
  onTestFinished(() => worker.stop());
  await until(() => waits.mock.calls.length > 5);
  const before = searches.mock.calls.length;
  const waited = waits.mock.calls.length;
  await until(() => waits.mock.calls.length > waited + 20);
  expect(searches.mock.calls.length).toBe(before);
  await queues.add('searched', [job('now'), { ...job('later'), opts: { delay: 50 } }]);
  await until(() => done.length === 2);
  expect(done).toEqual(['now', 'later']);
});

const events = `${env.redisPrefix}:{traces}:traces:events`;

test('neither the result nor the error of a job stays in Redis', async () => {
  const { redis, queues } = open();
  const done: string[] = [];
  const worker = queues.work(
    'traces',
    async ({ data }) => {
      done.push(data.id);
      if (data.id === 'fails') throw new Error('ada@example.com does not exist');
      return { to: 'ada@example.com' };
    },
    1,
  );
  onTestFinished(() => worker.stop());
  await queues.add('traces', [job('works'), job('fails'), job('last')]);
  await until(() => queues.activity().some(({ failures }) => failures.length > 0) && done.includes('last'));
  // The process itself still knows the reason.
  expect(queues.activity().flatMap(({ failures }) => failures.map(({ error }) => error))).toEqual([
    'ada@example.com does not exist',
  ]);
  await until(async () => (await redis.commands.xlen(events)) >= 4);
  const kept = JSON.stringify(await redis.commands.xrange(events, '-', '+'));
  expect(kept).toContain('failed');
  expect(kept).not.toContain('ada@example.com');
});
