import { afterEach, expect, test, vi } from 'vitest';
import { createKeyedQueue, createSerialQueue } from '../../../src/platform/concurrency/serial-queue.ts';

afterEach(() => vi.useRealTimers());

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
