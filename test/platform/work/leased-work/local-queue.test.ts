import { expect, test, vi } from 'vitest';
import { LocalQueue } from '../../../../src/platform/work/leased-work/local-queue.ts';

/** A local queue of numbers from 1 to `due`. Runs end when the test says so, or at once. */
function createNumbers({ due = 1000, concurrency = 2, endsAtOnce = false } = {}) {
  let next = 1;
  const started: number[] = [];
  const released: number[] = [];
  const limits: number[] = [];
  const ends = new Map<number, () => void>();
  const onMore = vi.fn();
  let claimed: Promise<void> = Promise.resolve();
  const queue = new LocalQueue<number>({
    concurrency,
    async claim({ limit }) {
      limits.push(limit);
      await claimed;
      const leases = Array.from({ length: Math.min(limit, due - next + 1) }, () => next++);
      return { leases, mayHaveMore: leases.length === limit };
    },
    async run(number) {
      started.push(number);
      if (!endsAtOnce) await new Promise<void>((resolve) => ends.set(number, resolve));
    },
    async release(leases) {
      released.push(...leases);
    },
    onMore,
    onError: (error) => {
      throw error;
    },
  });
  const delayClaims = (until: Promise<void>) => {
    claimed = until;
  };
  return { queue, started, released, limits, ends, onMore, delayClaims };
}

test('rows that end quickly are claimed many at once, and all of them run in their order', async () => {
  const { queue, started, limits } = createNumbers({ endsAtOnce: true });
  await queue.wake();
  await vi.waitUntil(() => started.length === 1000);
  expect(started).toEqual(Array.from({ length: 1000 }, (_, i) => i + 1));
  expect(limits.length).toBeLessThan(50);
  await queue.stop();
});

test('slow rows are not claimed ahead, and others are told that there are more', async () => {
  const { queue, started, limits, ends, onMore } = createNumbers();
  await queue.wake();
  expect([started, limits]).toEqual([[1, 2], [2]]);
  expect(onMore).toHaveBeenCalledTimes(1);
  await queue.wake();
  expect(onMore).toHaveBeenCalledTimes(2);
  ends.get(1)!();
  await vi.waitUntil(() => started.length === 3);
  expect(started).toEqual([1, 2, 3]);
});

test('wake-ups during a claim share the next claim', async () => {
  const { queue, limits, delayClaims } = createNumbers({ due: 1, concurrency: 5 });
  const { promise, resolve } = Promise.withResolvers<void>();
  delayClaims(promise);
  const first = queue.wake();
  await vi.waitUntil(() => limits.length === 1);
  const others = Array.from({ length: 10 }, () => queue.wake());
  resolve();
  await Promise.all([first, ...others]);
  expect(limits).toHaveLength(2);
});

test('a stop gives back what a claim in progress returns, and waits for runs', async () => {
  const { queue, started, released, limits, ends, delayClaims } = createNumbers({ due: 3 });
  await queue.wake();
  const { promise, resolve } = Promise.withResolvers<void>();
  delayClaims(promise);
  ends.get(1)!();
  await vi.waitUntil(() => limits.length === 2);
  let isStopped = false;
  const stopped = queue.stop().then(() => {
    isStopped = true;
  });
  resolve();
  await vi.waitUntil(() => released.length === 1);
  expect([started, released, isStopped]).toEqual([[1, 2], [3], false]);
  ends.get(2)!();
  await stopped;
});
