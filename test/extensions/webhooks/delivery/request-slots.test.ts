import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createRequestSlots } from '../../../../src/extensions/webhooks/delivery/request-slots.ts';

test('both lanes together never exceed the slots, the slow lane never exceeds its part, and neither lane starves', async () => {
  const slots = createRequestSlots(6, { slow: 2, untried: 2, slowOrUntried: 3, requested: 1 });
  const now = { fast: 0, slow: 0 };
  const most = { fast: 0, slow: 0, both: 0 };
  const done: string[] = [];
  const task = (lane: 'fast' | 'slow', ms: number) =>
    slots.run(lane, async () => {
      now[lane] += 1;
      most[lane] = Math.max(most[lane], now[lane]);
      most.both = Math.max(most.both, now.fast + now.slow);
      await sleep(ms);
      now[lane] -= 1;
      done.push(lane);
    });
  await Promise.all([
    ...Array.from({ length: 20 }, () => task('slow', 5)),
    ...Array.from({ length: 60 }, () => task('fast', 1)),
  ]);
  expect(most).toMatchObject({ slow: 2, both: 6 });
  expect(done.slice(0, 40)).toContain('fast');
  expect(done.slice(0, 40)).toContain('slow');
});

test('however many slow or untried receivers hang, slots stay free for receivers that are known to respond', async () => {
  const slots = createRequestSlots(6, { slow: 2, untried: 2, slowOrUntried: 3, requested: 1 });
  const releases: (() => void)[] = [];
  for (const turn of ['untried', 'slow', 'untried', 'slow', 'untried'] as const) {
    slots.acquire(turn, (release) => releases.push(release));
  }
  expect(releases).toHaveLength(3);
  expect([slots.isFull('slow'), slots.isFull('untried'), slots.isFull('fast')]).toEqual([true, true, false]);
  expect(await slots.run('fast', async () => 'ran')).toBe('ran');
  while (releases.length > 0) releases.shift()!();
  expect([slots.isFull('slow'), slots.isFull('untried')]).toEqual([false, false]);
});

test('a task that fails releases its slot', async () => {
  const slots = createRequestSlots(1, { slow: 1, untried: 1, slowOrUntried: 1, requested: 1 });
  await expect(slots.run('fast', () => Promise.reject(new Error('x')))).rejects.toThrow('x');
  expect(await slots.run('slow', async () => 'ran')).toBe('ran');
});
