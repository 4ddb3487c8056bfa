import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { createSemaphore } from '../../../../src/platform/helpers/concurrency/semaphore.ts';
import { createKeyedQueue, createSerialQueue } from '../../../../src/platform/helpers/concurrency/serial-queue.ts';

afterEach(() => vi.useRealTimers());

test('at most its size of tasks run concurrently, and all tasks run in order of arrival', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.record({ ms: fc.nat({ max: 3 }), fails: fc.boolean() }), { maxLength: 20 }),
      async (size, tasks) => {
        const semaphore = createSemaphore(size);
        const started: number[] = [];
        let running = 0;
        let most = 0;
        const results = await Promise.allSettled(
          tasks.map(({ ms, fails }, index) =>
            semaphore.run(async () => {
              started.push(index);
              running += 1;
              most = Math.max(most, running);
              await sleep(ms);
              running -= 1;
              if (fails) throw new Error('task failed');
              return index;
            }),
          ),
        );
        expect(started).toEqual(tasks.map((_, index) => index));
        expect(most).toBe(Math.min(size, tasks.length));
        expect(results.map((result) => result.status === 'rejected')).toEqual(tasks.map((task) => task.fails));
      },
    ),
    { numRuns: 50 },
  );
});

test('a new task does not overtake waiting tasks', async () => {
  const semaphore = createSemaphore(1);
  const order: string[] = [];
  const first = semaphore.run(() => order.push('first'));
  const second = semaphore.run(() => order.push('second'));
  await first;
  const third = semaphore.run(() => order.push('third'));
  await Promise.all([second, third]);
  expect(order).toEqual(['first', 'second', 'third']);
});

test('after an idle period the limit still holds', async () => {
  const semaphore = createSemaphore(1);
  await semaphore.run(() => 'alone');
  await semaphore.run(() => 'alone again');
  const { promise, resolve } = Promise.withResolvers<void>();
  const started: string[] = [];
  const first = semaphore.run(() => {
    started.push('first');
    return promise;
  });
  const second = semaphore.run(() => started.push('second'));
  expect(started).toEqual(['first']);
  resolve();
  await Promise.all([first, second]);
  expect(started).toEqual(['first', 'second']);
});

test('a task that throws before its first await releases its slot', async () => {
  const semaphore = createSemaphore(1);
  await expect(
    semaphore.run(() => {
      throw new Error('at once');
    }),
  ).rejects.toThrow('at once');
  expect(await semaphore.run(() => 'next')).toBe('next');
});

test('a task beyond the queue limit is refused and never runs', async () => {
  const semaphore = createSemaphore(1, { maxQueue: 1 });
  const running = semaphore.run(() => sleep(5));
  const waiting = semaphore.run(() => 'waited');
  let ran = false;
  await expect(
    semaphore.run(() => {
      ran = true;
    }),
  ).rejects.toMatchObject({ code: 'SEMAPHORE_FULL' });
  await running;
  expect(await waiting).toBe('waited');
  expect(ran).toBe(false);
  expect(await semaphore.run(() => 'free again')).toBe('free again');
});

test.each([0, -1, 1.5, Number.NaN])('a size of %s is refused', (size) => {
  expect(() => createSemaphore(size)).toThrow(RangeError);
});

test('tasks run one at a time in the order they were added, and a failed task does not block the queue', async () => {
  const queue = createSerialQueue();
  const log: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = queue(async () => {
    log.push('first starts');
    await gate.promise;
    log.push('first ends');
    return 1;
  });
  const second = queue(async () => {
    log.push('second');
    throw new Error('second fails');
  });
  const third = queue(async () => {
    log.push('third');
    return 3;
  });
  gate.resolve();
  expect(await first).toBe(1);
  await expect(second).rejects.toThrow('second fails');
  expect(await third).toBe(3);
  expect(log).toEqual(['first starts', 'first ends', 'second', 'third']);
});

test('tasks of different keys do not wait for each other', async () => {
  const queue = createKeyedQueue();
  const gate = Promise.withResolvers<string>();
  const slow = queue('a', () => gate.promise);
  expect(await queue('b', async () => 'b')).toBe('b');
  gate.resolve('a');
  expect(await slow).toBe('a');
});

test('a task that waits for its own key is overtaken after 5 seconds instead of waiting forever', async () => {
  vi.useFakeTimers();
  const queue = createKeyedQueue();
  const outer = queue('a', () => queue('a', async () => 'inner'));
  await vi.advanceTimersByTimeAsync(5000);
  expect(await outer).toBe('inner');
});
