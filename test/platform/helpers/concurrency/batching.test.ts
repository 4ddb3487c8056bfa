import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { createBatchedCall, createBatchLoader } from '../../../../src/platform/helpers/concurrency/loader.ts';
import { createMicroBatch } from '../../../../src/platform/helpers/concurrency/micro-batch.ts';

const keyOf = (found: { key: string }) => found.key;

test('all look-ups of one turn are one query with unique keys, and each gets its own result', async () => {
  const load = vi.fn(async (keys: string[]) =>
    keys
      .filter((key) => key !== 'none')
      .map((key) => ({ key }))
      .reverse(),
  );
  const find = createBatchLoader(load, keyOf);
  expect(await Promise.all(['a', 'b', 'a', 'none'].map(find))).toEqual([
    { key: 'a' },
    { key: 'b' },
    { key: 'a' },
    undefined,
  ]);
  expect(load.mock.calls).toEqual([[['a', 'b', 'none']]]);
});

test('nothing is cached: the next turn queries again', async () => {
  const load = vi.fn(async (keys: string[]) => keys.map((key) => ({ key })));
  const find = createBatchLoader(load, keyOf);
  await find('a');
  await find('a');
  expect(load).toHaveBeenCalledTimes(2);
});

test('a failed query fails all of its look-ups and none after it', async () => {
  const load = vi.fn(async (keys: string[]) => keys.map((key) => ({ key }))).mockRejectedValueOnce(new Error('away'));
  const find = createBatchLoader(load, keyOf);
  const outcomes = await Promise.allSettled([find('a'), find('b')]);
  expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected']);
  expect(await find('a')).toEqual({ key: 'a' });
});

test('a turn with more inputs than a batch may have makes several calls, and one that fails does not fail the others', async () => {
  const load = vi.fn(async (inputs: number[]) => {
    if (inputs.includes(2)) throw new Error('away');
    return inputs.map((input) => input * 10);
  });
  const multiply = createBatchedCall(load, String, 2);
  const outcomes = await Promise.allSettled([0, 1, 2, 3, 4, 4].map(multiply));
  expect(load.mock.calls).toEqual([[[0, 1]], [[2, 3]], [[4]]]);
  expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : 'failed'))).toEqual([
    0,
    10,
    'failed',
    'failed',
    40,
    40,
  ]);
});

test('each item of a batch gets its own result', async () => {
  const double = createMicroBatch<number, number>(async (items) => items.map((item) => item * 2), 2);
  expect(await Promise.all([1, 2, 3].map(double))).toEqual([2, 4, 6]);
});

test('items that arrive during a write form the next batch, in order, and a failure affects only its own batch', async () => {
  const batches: number[][] = [];
  const add = createMicroBatch<number>(async (items) => {
    batches.push(items);
    await sleep(5);
    if (items.includes(3)) throw new Error('not written');
  }, 3);
  const first = add(1);
  await sleep(1);
  const laterResults = await Promise.allSettled([add(2), add(3), add(4), add(5)]);
  await first;
  expect(batches).toEqual([[1], [2, 3, 4], [5]]);
  expect(laterResults.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'fulfilled']);
});
