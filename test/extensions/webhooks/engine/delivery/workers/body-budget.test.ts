import { expect, test } from 'vitest';
import {
  computeBodyBytes,
  createBodyBudget,
  estimateDeliveryBytes,
} from '../../../../../../src/extensions/webhooks/engine/delivery/body-budget.ts';
import type { ClaimedDelivery } from '../../../../../../src/extensions/webhooks/engine/delivery/claim.ts';

const MB = 2 ** 20;
const createDeliveries = (count: number, bytes: number) =>
  Array.from(
    { length: count },
    (_, i) => ({ id: `${i}`, body: 'x'.repeat(bytes), encryptedBody: null }) as ClaimedDelivery,
  );

test.each([
  [512, 64],
  [4096, 512],
  [16, 8],
])('a worker with a heap of %i MB claims bodies of %i MB at most', (heapMb, expected) => {
  expect(computeBodyBytes(heapMb * MB)).toBe(expected * MB);
});

test('small bodies do not limit claims', () => {
  const budget = createBodyBudget(64 * MB);
  for (let i = 0; i < 100; i++) {
    const claim = budget.plan(50);
    expect(claim.count).toBe(50);
    claim.settle(createDeliveries(50, 1000));
  }
});

test('claims of large bodies shrink until few bytes are left, to one delivery, and grow again when bodies are sent', () => {
  const budget = createBodyBudget(8 * MB);
  const first = budget.plan(50);
  const claimed = createDeliveries(first.count, MB / 10);
  first.settle(claimed);
  const second = budget.plan(50);
  expect(second.count).toBeLessThan(50);
  expect(second.count).toBeGreaterThan(1);
  // While that claim runs, its bytes are reserved.
  expect(budget.plan(50).count).toBe(1);
  second.settle(createDeliveries(second.count, MB / 10));
  for (const delivery of claimed) budget.free(estimateDeliveryBytes(delivery));
  expect(budget.plan(50).count).toBeGreaterThan(10);
});

test('a claim that returns nothing or fails frees what it reserved', () => {
  const budget = createBodyBudget(8 * MB);
  for (let i = 0; i < 10_000; i++) budget.plan(50).settle([]);
  expect(budget.plan(50).count).toBe(50);
});

test('the bytes of many leases stay within the budget, apart from one body for each', () => {
  const [budget, bytes] = [createBodyBudget(8 * MB), MB / 2];
  budget.plan(1).settle(createDeliveries(1, bytes));
  let held = 1;
  for (let lease = 0; lease < 20; lease++) {
    const claim = budget.plan(50);
    claim.settle(createDeliveries(claim.count, bytes));
    held += claim.count;
  }
  expect(held * bytes).toBeLessThanOrEqual(8 * MB + 20 * bytes);
});

test('a large body does not limit claims for long', () => {
  const budget = createBodyBudget(8 * MB);
  const claimOne = (bytes: number) => {
    budget.plan(1).settle(createDeliveries(1, bytes));
    budget.free(bytes);
  };
  claimOne(MB);
  const limited = budget.plan(50);
  expect(limited.count).toBeLessThan(10);
  limited.settle([]);
  for (let i = 0; i < 200; i++) claimOne(100);
  expect(budget.plan(50).count).toBe(50);
});
