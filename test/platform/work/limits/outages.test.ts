import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { openRedis } from '../../../../src/platform/data/redis/connections.ts';
import { createLogger } from '../../../../src/platform/observability/log.ts';
import { createMetrics } from '../../../../src/platform/observability/metrics.ts';
import { createLimits } from '../../../../src/platform/work/limits/index.ts';
import type { Limiter } from '../../../../src/platform/work/limits/limiter.ts';
import { createTestDatabase } from '../../../support/database/test-database.ts';
import { startTcpProxy, type TcpProxy } from '../../../support/tcp-proxy.ts';

const database = await createTestDatabase();
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(() => database.drop());

/** The limits of a process that reaches Redis through a proxy, and its log messages. */
async function openLimits(proxy: TcpProxy) {
  const log = createLogger('silent', 'test');
  const logLines: string[] = [];
  vi.spyOn(log, 'warn').mockImplementation((_details: unknown, text?: string) => void logLines.push(`warn: ${text}`));
  vi.spyOn(log, 'info').mockImplementation((text: unknown) => void logLines.push(`info: ${text}`));
  const metrics = createMetrics();
  const redis = openRedis({ urls: [proxy.url] }, createLogger('silent', 'test'));
  await redis.commands.connect();
  closing.push(() => redis.close());
  return {
    limits: createLimits(redis.commands, database.redisPrefix, log, metrics),
    redis: redis.commands,
    logLines,
    metrics,
  };
}

async function startOwnProxy(): Promise<TcpProxy> {
  const proxy = await startTcpProxy(new URL(database.redisUrl));
  closing.push(() => proxy.close());
  return proxy;
}

const AWAY = 'warn: Redis is down: each process counts rate limits by itself';
const BACK = 'info: Redis is available again: rate limits are counted there';

/** Keeps requesting, like clients do: only requests detect that Redis is available again. */
function until(limiter: Limiter, reached: () => boolean): Promise<unknown> {
  const ask = async () => {
    await limiter.consume('whoever');
    return reached();
  };
  return vi.waitUntil(ask, { timeout: 60_000 });
}

const comesBack = (limiter: Limiter, logLines: readonly string[]) => until(limiter, () => logLines.includes(BACK));

test.each(['shut', 'hang'] as const)(
  'while Redis is down (%s) each process counts alone, afterwards they count together, and each change is logged once',
  async (how) => {
    const proxy = await startOwnProxy();
    const rule = { limit: 3, windowMs: 3_600_000 };
    const processes = [await openLimits(proxy), await openLimits(proxy)];
    const [here, there] = processes.map(({ limits }) => limits.limiter(`gone-${how}`, rule));
    expect((await here!.consume('ann')).remaining).toBe(2);
    expect((await there!.consume('ann')).remaining).toBe(1);

    proxy[how]();
    for (const limiter of [here, there]) {
      const verdicts = await Promise.all(Array.from({ length: 10 }, () => limiter!.consume('ann')));
      expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(3);
      expect((await limiter!.consume('ann')).allowed).toBe(false);
      expect((await limiter!.consume('bob')).remaining).toBe(2);
    }
    for (const { logLines } of processes) expect(logLines).toEqual([AWAY]);
    for (const { metrics } of processes)
      expect(await metrics.registry.metrics()).toMatch(/^belfry_redis_fallbacks_total\{what="limits"\} [1-9]/m);

    proxy.reopen();
    await Promise.all([comesBack(here!, processes[0]!.logLines), comesBack(there!, processes[1]!.logLines)]);
    for (const { logLines } of processes) expect(logLines).toEqual([AWAY, BACK]);
    expect((await here!.consume('eve')).remaining).toBe(2);
    expect((await there!.consume('eve')).remaining).toBe(1);
  },
);

test('while Redis is down, only one attempt at a time is sent to it', async () => {
  const proxy = await startOwnProxy();
  const { limits, redis } = await openLimits(proxy);
  const limiter = limits.limiter('attempts', { limit: 1_000_000, windowMs: 3_600_000 });
  await limiter.consume('ann');
  proxy.hang();
  await limiter.consume('ann');
  const sent = vi.spyOn(redis, 'sendCommand');
  await until(limiter, () => sent.mock.calls.length > 0);
  for (let i = 0; i < 1000; i++) await limiter.consume('ann');
  expect(sent).toHaveBeenCalledTimes(1);
});

test('once the breaker has opened, no request waits for a Redis that hangs', async () => {
  const proxy = await startOwnProxy();
  const { limits } = await openLimits(proxy);
  const limiter = limits.limiter('waiting', { limit: 600, windowMs: 3_600_000 });
  await limiter.consume('ann');
  proxy.hang();
  await limiter.consume('ann');
  let decided = 0;
  const verdicts = Array.from({ length: 1000 }, () => limiter.consume('bob').finally(() => decided++));
  // The turn of the event loop in which the counts are collected, and one for the decisions.
  await setImmediate();
  await setImmediate();
  expect(decided).toBe(1000);
  expect((await Promise.all(verdicts)).filter(({ allowed }) => allowed)).toHaveLength(600);
});

test('a connection that stays silent is replaced by a new one', async () => {
  const proxy = await startOwnProxy();
  const { limits, redis, logLines } = await openLimits(proxy);
  const limiter = limits.limiter('silent', { limit: 1_000_000, windowMs: 3_600_000 });
  await limiter.consume('ann');
  proxy.hang();
  await limiter.consume('ann');
  await new Promise((resolve) => redis.once('close', resolve));
  proxy.reopen();
  await comesBack(limiter, logLines);
  expect(logLines).toEqual([AWAY, BACK]);
}, 240_000);

test('after an error of Redis itself, such as out of memory, the process counts alone too', async () => {
  const proxy = await startOwnProxy();
  const { limits, redis, logLines } = await openLimits(proxy);
  const limiter = limits.limiter('broken', { limit: 2, windowMs: 3_600_000 });
  await limiter.consume('ann');
  const [key] = await redis.keys(`${database.redisPrefix}:limit:*:broken:3600000:ann`);
  await redis.set(key!, 'no number');
  const verdicts = [await limiter.consume('ann'), await limiter.consume('ann'), await limiter.consume('ann')];
  expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, false]);
  expect(logLines).toEqual([AWAY]);
});
