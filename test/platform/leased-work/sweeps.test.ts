import { expect, test } from 'vitest';
import { createReclaimSweep, createRetentionSweep } from '../../../src/platform/leased-work/sweeps.ts';
import type { Executor } from '../../../src/platform/postgres/queryable.ts';

test('a reclaim sweep adds jobs for all rows, whether they are found at once or page by page', async () => {
  const added: unknown[] = [];
  const options = { name: 'tests', everyMs: 1000, addJobs: async (rows: readonly number[]) => added.push(rows) };
  expect(await createReclaimSweep({ ...options, find: async () => [1, 2] }).run()).toBe(2);
  const pages = async function* () {
    yield [3, 4];
    yield [];
    yield [5];
  };
  expect(await createReclaimSweep({ ...options, find: pages }).run()).toBe(3);
  expect(added).toEqual([[1, 2], [3, 4], [5]]);
});

test('a retention sweep removes at most 20 batches, unless the statement may have more', async () => {
  let left = 0;
  const removeBatch = async ({ values }: { values: readonly unknown[] }) => {
    const removed = Math.min(left, values.at(-1) as number);
    left -= removed;
    return Array.from({ length: removed }, () => [1]);
  };
  const database = { write: removeBatch } as unknown as Executor;
  const run = (maxBatches?: number) => {
    left = 100;
    const removals = [{ text: 'delete', rowsPerBatch: 2, ...(maxBatches === undefined ? {} : { maxBatches }) }];
    return createRetentionSweep(database, { name: 'tests', removals }).run();
  };
  expect(await run()).toBe(40);
  expect(await run(Number.POSITIVE_INFINITY)).toBe(100);
});
