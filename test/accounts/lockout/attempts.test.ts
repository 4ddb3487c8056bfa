import { afterAll, expect, test } from 'vitest';
import { createLockout } from '../../../src/accounts/lockout/lockout.ts';
import { openRedis } from '../../../src/platform/data/redis/connections.ts';
import { createLogger } from '../../../src/platform/observability/log.ts';
import { createMetrics } from '../../../src/platform/observability/metrics.ts';
import type { Platform } from '../../../src/platform/platform.ts';
import { readSettings } from '../../../src/platform/settings/settings.ts';
import { createTestDatabase } from '../../support/database/test-database.ts';

const database = await createTestDatabase();
const log = createLogger('silent', 'test');
const redis = openRedis({ urls: [database.redisUrl] }, log);
await redis.commands.connect();
afterAll(async () => {
  await redis.close();
  await database.drop();
});

/** Creates a lockout with a memory of its own, as each process has. */
function processOf() {
  const env = { redisPrefix: database.redisPrefix };
  const parts = { settings: readSettings({}), redis, env, log, metrics: createMetrics() };
  return createLockout(parts as unknown as Platform);
}

const [here, there] = [processOf(), processOf()];
const wrong = async () => undefined;
const right = async () => 'value';

test('an attempt returns the value of its check', async () => {
  expect(await here.runAttempt('email:a', right)).toEqual({ kind: 'passed', value: 'value' });
  expect(await here.runAttempt('email:a', wrong)).toEqual({ kind: 'failed' });
});

test('an attempt whose check throws does not count and releases its reservation', async () => {
  const broken = () => here.runAttempt('email:b', () => Promise.reject(new Error('the store is away')));
  for (let i = 0; i < 12; i++) await expect(broken()).rejects.toThrow('the store is away');
  expect((await here.runAttempt('email:b', right)).kind).toBe('passed');
});

test('two processes share one count: of fifty concurrent failing attempts, five are made', async () => {
  let made = 0;
  const check = async () => {
    made += 1;
    return undefined;
  };
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, (_, i) => (i % 2 ? here : there).runAttempt('email:c', check)),
  );
  expect(made).toBe(5);
  expect(outcomes.filter(({ kind }) => kind === 'locked')).toHaveLength(45);
  expect(outcomes.filter((one) => one.kind === 'failed' && one.lockedUntil !== undefined)).toHaveLength(1);
});

test('across all processes, no more attempts run at once than may still fail', async () => {
  let [flying, most] = [0, 0];
  const check = async () => {
    flying += 1;
    most = Math.max(most, flying);
    await new Promise(setImmediate);
    flying -= 1;
    return 'value';
  };
  const all = Array.from({ length: 60 }, (_, i) => (i % 2 ? here : there).runAttempt('email:d', check));
  expect((await Promise.all(all)).every(({ kind }) => kind === 'passed')).toBe(true);
  expect(most).toBeLessThanOrEqual(5);
});

test('waiting attempts run in order, and a contested name does not delay other names', async () => {
  const held = Promise.withResolvers<string>();
  const holding = Array.from({ length: 5 }, () => here.runAttempt('email:e', () => held.promise));
  const order: number[] = [];
  const waiting = Array.from({ length: 5 }, (_, i) => here.runAttempt('email:e', async () => order.push(i)));
  expect((await here.runAttempt('email:f', right)).kind).toBe('passed');
  expect(order).toEqual([]);
  held.resolve('value');
  await Promise.all([...holding, ...waiting]);
  expect(order).toEqual([0, 1, 2, 3, 4]);
});

test('clearing the failures of a name affects no other name', async () => {
  for (const name of ['email:g', 'email:h']) for (let i = 0; i < 5; i++) await here.runAttempt(name, wrong);
  await there.clearFailedAttemptsAndLock('email:g');
  expect((await here.runAttempt('email:g', right)).kind).toBe('passed');
  expect((await here.runAttempt('email:h', right)).kind).toBe('locked');
});

test('an unreadable value in Redis locks no user out', async () => {
  await here.runAttempt('email:i', wrong);
  const keys = await redis.commands.keys(`${database.redisPrefix}:lockout:*`);
  for (const junk of ['not a state', '5', '{"failures":["x"]}']) {
    for (const key of keys) await redis.commands.set(key, junk);
    expect((await here.runAttempt('email:i', wrong)).kind).toBe('failed');
  }
  expect((await here.runAttempt('email:i', right)).kind).toBe('passed');
});
