import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createMicroBatch } from '../../../src/platform/concurrency/micro-batch.ts';

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
