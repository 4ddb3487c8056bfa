import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { type Command, Redis } from 'ioredis';
import { afterAll, expect, test, vi } from 'vitest';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { createMetrics } from '../../../../src/platform/observability/metrics.ts';
import { createLimits } from '../../../../src/platform/work/limits/index.ts';
import type { LimitDecision } from '../../../../src/platform/work/limits/limiter.ts';
import { createTestDatabase } from '../../../support/database/test-database.ts';

const database = await createTestDatabase();
const clients: Redis[] = [];
afterAll(async () => {
  for (const client of clients) client.disconnect();
  await database.drop();
});

/** The limits of one additional process, connected like those of an app that is ready to serve. */
async function openLimits(prefix = database.redisPrefix) {
  const redis = new Redis(database.redisUrl);
  clients.push(redis);
  await redis.ping();
  return { redis, limits: createLimits(redis, prefix, createLogger('silent', 'test'), createMetrics()) };
}

const HOUR = { limit: 300, windowMs: 3_600_000 };

test('of 400 concurrent requests to two processes exactly 300 pass, each with its remaining count', async () => {
  const limiters = [await openLimits(), await openLimits()].map(({ limits }) => limits.limiter('two', HOUR));
  const verdicts = await Promise.all(Array.from({ length: 400 }, (_, i) => limiters[i % 2]!.consume('ann')));
  const passed = verdicts.filter(({ allowed }) => allowed);
  expect(passed.map(({ remaining }) => remaining).sort((a, b) => a - b)).toEqual([...Array(300).keys()]);
  expect(new Set(verdicts.map(({ limit }) => limit))).toEqual(new Set([300]));
});

test('in any sequence of requests, each key passes as often as its rule allows and no more', async () => {
  const { limits } = await openLimits();
  let run = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.record({ key: fc.constantFrom('a', 'b', 'c'), waits: fc.boolean() }), { maxLength: 40 }),
      async (limit, requests) => {
        const limiter = limits.limiter(`run-${++run}`, { limit, windowMs: 60_000 });
        const verdicts: Promise<readonly [string, boolean]>[] = [];
        for (const { key, waits } of requests) {
          const verdict = limiter.consume(key).then(({ allowed }) => [key, allowed] as const);
          verdicts.push(verdict);
          if (waits) await verdict;
        }
        const passed = Map.groupBy(await Promise.all(verdicts), ([key]) => key);
        for (const list of passed.values()) {
          const expected = list.map((_, i) => i < limit);
          expect(list.map(([, allowed]) => allowed)).toEqual(expected);
        }
      },
    ),
    { numRuns: 60 },
  );
});

test('a window expires by itself in every process', async () => {
  const rule = { limit: 2, windowMs: 1000 };
  const [here, there] = [await openLimits(), await openLimits()].map(({ limits }) => limits.limiter('short', rule));
  const all = await Promise.all([here, here, here, there].map((limiter) => limiter!.consume('ann')));
  expect(all.filter(({ allowed }) => allowed)).toHaveLength(2);
  expect(all.every(({ leftMs }) => leftMs > 0 && leftMs <= 1000)).toBe(true);
  await vi.waitUntil(async () => (await there!.consume('ann')).allowed, { timeout: 60_000, interval: 20 });
  await vi.waitUntil(async () => (await here!.consume('ann')).allowed, { timeout: 60_000, interval: 20 });
});

test('a window is not rounded to whole seconds', async () => {
  const { limits } = await openLimits();
  const { leftMs } = await limits.limiter('exact', { limit: 1, windowMs: 59_999 }).consume('ann');
  expect(leftMs).toBe(59_999);
});

test('limiters share counts only if name, window and prefix are the same', async () => {
  const one = await openLimits();
  const spend = (name: string, windowMs = 60_000, { limits } = one) =>
    limits.limiter(name, { limit: 1, windowMs }).consume('ann');
  expect((await spend('mine')).allowed).toBe(true);
  expect((await spend('mine')).allowed).toBe(false);
  expect((await spend('yours')).allowed).toBe(true);
  expect((await spend('mine', 120_000)).allowed).toBe(true);
  expect((await spend('mine', 60_000, await openLimits(`${database.redisPrefix}-other`))).allowed).toBe(true);
});

test('every key carries the prefix and expires, even if it lost its expiry', async () => {
  const { redis, limits } = await openLimits(`${database.redisPrefix}-keys`);
  const limiter = limits.limiter('POST /auth/login', { limit: 9, windowMs: 60_000 });
  await limiter.consume('2001:db8::/64');
  const keys = await redis.keys(`*${database.redisPrefix}-keys*`);
  expect(keys).toEqual([expect.stringMatching(/-keys:limit:\{\d+\}:POST \/auth\/login:60000:2001:db8::\/64$/)]);
  expect(keys[0]).toMatch(new RegExp(`^${database.redisPrefix}`));
  await redis.persist(keys[0]!);
  expect((await limiter.consume('2001:db8::/64')).remaining).toBe(7);
  expect(await redis.pttl(keys[0]!)).toBeGreaterThan(0);
});

test('a spent limit is known in the process, so a flood causes no further Redis commands', async () => {
  const { redis, limits } = await openLimits();
  const limiter = limits.limiter('flood', { limit: 3, windowMs: 3_600_000 });
  expect(limiter.isExhausted('ann')).toBe(false);
  await Promise.all(Array.from({ length: 4 }, () => limiter.consume('ann')));
  expect(limiter.isExhausted('ann')).toBe(true);
  expect(limiter.isExhausted('bob')).toBe(false);
  const [key] = await redis.keys(`${database.redisPrefix}:limit:*:flood:3600000:ann`);
  const flood = await Promise.all(Array.from({ length: 1000 }, () => limiter.consume('ann')));
  expect(flood.every(({ allowed, leftMs }) => !allowed && leftMs > 3_500_000)).toBe(true);
  expect(await redis.get(key!)).toBe('4');
});

test('requests with a weight count as that many, and a weight above the rest is refused', async () => {
  const { limits } = await openLimits();
  const limiter = limits.limiter('weights', { limit: 10, windowMs: 3_600_000 });
  const weights = [4, 1, 5, 1];
  const verdicts = await Promise.all(weights.map((weight) => limiter.consume('ann', weight)));
  expect(verdicts.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
    [true, 6],
    [true, 5],
    [true, 0],
    [false, 0],
  ]);
});

test('all counts of one event loop turn are sent in one command, whatever their limits', async () => {
  const { redis, limits } = await openLimits();
  const limiters = ['x', 'y', 'z'].map((name) => limits.limiter(name, HOUR));
  await limiters[0]!.consume('first');
  const watched = vi.spyOn(redis, 'sendCommand');
  await Promise.all(limiters.flatMap((limiter) => [limiter.consume('ann'), limiter.consume('bob')]));
  expect(watched).toHaveBeenCalledTimes(1);
});

test('counts that arrive while a command is in progress are sent together in the next command', async () => {
  const { redis, limits } = await openLimits();
  const limiter = limits.limiter('spread', HOUR);
  await limiter.consume('first');
  const sent: Command[] = [];
  const send = redis.sendCommand.bind(redis);
  const watched = vi.spyOn(redis, 'sendCommand').mockImplementation((command) => {
    sent.push(command);
    return command.promise;
  });
  const verdicts: Promise<LimitDecision>[] = [];
  for (let turn = 0; turn < 5; turn++) {
    verdicts.push(limiter.consume('ann'), limiter.consume(`ann-${turn}`));
    await setImmediate();
    await setImmediate();
  }
  expect(sent).toHaveLength(1);
  watched.mockRestore();
  const sentCommands = vi.spyOn(redis, 'sendCommand');
  send(sent[0]!);
  const remaining = (await Promise.all(verdicts)).map((verdict) => verdict.remaining);
  expect(sentCommands).toHaveBeenCalledTimes(1);
  expect(remaining).toEqual([299, 299, 298, 299, 297, 299, 296, 299, 295, 299]);
});

test('a script that Redis no longer has is sent again', async () => {
  const { redis, limits } = await openLimits();
  const limiter = limits.limiter('forgotten', HOUR);
  await limiter.consume('ann');
  await redis.script('FLUSH');
  expect((await limiter.consume('ann')).remaining).toBe(298);
});
