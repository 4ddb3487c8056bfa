import { expect, test } from 'vitest';
import { estimateRatio } from '../../bench/guard/interval.ts';

test('equal rounds give a ratio without an interval', () => {
  const { ratio, low, high, margin } = estimateRatio([2, 4, 6], [1, 2, 3]);
  expect(ratio).toBeCloseTo(2);
  expect(low).toBeCloseTo(2);
  expect(high).toBeCloseTo(2);
  expect(margin).toBeCloseTo(0);
});

test('the interval is that of Student’s t if no round is left out', () => {
  // The logarithms are −0.1, 0 and 0.1; their standard error is 0.1 / √3, and t is 4.303 for 2 degrees of freedom.
  const { ratio, low, high } = estimateRatio([Math.exp(-0.1), 1, Math.exp(0.1)], [1, 1, 1]);
  expect(ratio).toBeCloseTo(1);
  expect(Math.log(high)).toBeCloseTo((4.303 * 0.1) / Math.sqrt(3));
  expect(Math.log(low)).toBeCloseTo((-4.303 * 0.1) / Math.sqrt(3));
});

test('one disturbed round changes neither the ratio nor the interval much', () => {
  const costs = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0, 1.01, 0.99, 1.0, 1.0];
  const others = costs.map(() => 1);
  const calm = estimateRatio(costs, others);
  const disturbed = estimateRatio([...costs.slice(1), 5], others);
  expect(disturbed.ratio).toBeCloseTo(calm.ratio, 2);
  expect(disturbed.margin).toBeLessThan(0.02);
});

test('a drift of the machine that affects both sides does not change the ratio', () => {
  const others = Array.from({ length: 12 }, (_, round) => 100 * 1.2 ** round);
  const { ratio, margin } = estimateRatio(
    others.map((cost) => cost * 1.05),
    others,
  );
  expect(ratio).toBeCloseTo(1.05);
  expect(margin).toBeLessThan(0.001);
});

test('the interval contains the true ratio in about 95 of 100 runs', () => {
  let state = 1;
  // A generator of its own, so that the test cannot fail by chance.
  const random = () => {
    state = (state * 48_271) % 2_147_483_647;
    return state / 2_147_483_647;
  };
  const noise = () => Math.exp(0.1 * Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random()));
  const createCosts = (cost: number) => Array.from({ length: 15 }, () => cost * noise());
  let hits = 0;
  for (let run = 0; run < 2000; run++) {
    const { low, high } = estimateRatio(createCosts(1.1), createCosts(1));
    if (low < 1.1 && 1.1 < high) hits++;
  }
  expect(hits / 2000).toBeGreaterThan(0.93);
  expect(hits / 2000).toBeLessThan(0.97);
});
