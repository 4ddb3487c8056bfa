import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, expect, test, vi } from 'vitest';
import { BoundedBlockedKeys, BoundedMemoryLimiter } from '../../../../src/platform/work/limits/bounded-memory.ts';

const MAX_KEYS = 50_000;

afterEach(() => void vi.useRealTimers());

/** Counts a request of a key. Returns the requests so far and the ms left, allowed or not. */
async function count(limiter: BoundedMemoryLimiter, key: string): Promise<[number, number]> {
  const { consumedPoints, msBeforeNext } = await limiter.consume(key);
  return [consumedPoints, msBeforeNext];
}

test('under a flood of new keys, the limiter in memory forgets the keys that came first', async () => {
  const limiter = new BoundedMemoryLimiter({ limit: 10, windowMs: 3_600_000 });
  await count(limiter, 'first');
  for (let i = 1; i < MAX_KEYS; i++) void limiter.consume(`key ${i}`);
  expect((await count(limiter, 'first'))[0]).toBe(2);
  await count(limiter, 'one more');
  expect((await count(limiter, 'key 2000'))[0]).toBe(2);
  expect((await count(limiter, 'first'))[0]).toBe(1);
  expect(limiter.dump().storage.length).toBeLessThanOrEqual(MAX_KEYS);
});

test('windows in memory do not keep the process alive', async () => {
  const activeTimers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = activeTimers();
  void new BoundedMemoryLimiter({ limit: 1, windowMs: 3_600_000 }).consume('ann');
  expect(activeTimers()).toBe(before);
});

test('a window in memory ends by itself, and starts again once it is forgotten', async () => {
  vi.useFakeTimers();
  const limiter = new BoundedMemoryLimiter({ limit: 10, windowMs: 1500 });
  expect(await count(limiter, 'ann')).toEqual([1, 1500]);
  vi.setSystemTime(Date.now() + 1499);
  expect(await count(limiter, 'ann')).toEqual([2, 1]);
  vi.setSystemTime(Date.now() + 1);
  expect(await count(limiter, 'ann')).toEqual([1, 1500]);
  await limiter.delete('ann');
  expect(await count(limiter, 'ann')).toEqual([1, 1500]);
});

test('a blocked key is allowed again after its time, or once it is forgotten', () => {
  vi.useFakeTimers();
  const blocked = new BoundedBlockedKeys();
  expect(blocked.msBeforeExpire('ann')).toBe(0);
  blocked.addMs('ann', 1000);
  blocked.addMs('bob', 1000);
  vi.setSystemTime(Date.now() + 999);
  expect(blocked.msBeforeExpire('ann')).toBe(1);
  blocked.delete('ann');
  expect([blocked.msBeforeExpire('ann'), blocked.msBeforeExpire('bob')]).toEqual([0, 1]);
  vi.setSystemTime(Date.now() + 1);
  expect(blocked.msBeforeExpire('bob')).toBe(0);
});

test('of too many blocked keys, those that were blocked first are forgotten', () => {
  const blocked = new BoundedBlockedKeys();
  blocked.addMs('first', 3_600_000);
  blocked.addMs('second', 3_600_000);
  for (let i = 2; i < MAX_KEYS; i++) blocked.addMs(`key ${i}`, 3_600_000);
  blocked.addMs('first', 3_600_000);
  expect(blocked.msBeforeExpire('second')).toBeGreaterThan(0);
  blocked.addMs('one more', 3_600_000);
  expect(blocked.msBeforeExpire('second')).toBe(0);
  expect(blocked.msBeforeExpire('first')).toBeGreaterThan(0);
});

test('blocking the same key again and again needs no more memory', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const blocked = new BoundedBlockedKeys();
  const blockOften = (times: number) => {
    for (let i = 0; i < times; i++) blocked.addMs('ann', 1000);
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = blockOften(1000);
  // Each of them may leave less than ten bytes; a map whose old tables are kept alive leaves 150.
  expect(blockOften(500_000) - before).toBeLessThan(5_000_000);
});
