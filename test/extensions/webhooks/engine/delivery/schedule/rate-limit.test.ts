import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  createRateCounter,
  type RateState,
} from '../../../../../../src/extensions/webhooks/engine/delivery/rate-limit.ts';

const START = 1_900_000_000_000;

test('no window, wherever it begins and whichever process counts, contains more requests than the limit', () => {
  const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 700 }), fc.boolean()), { minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.constantFrom(1, 2), steps, (limit, windowSeconds, list) => {
      const rule = { limit, windowSeconds };
      let now = START;
      let rate = createRateCounter(rule, {}, now);
      const begun: number[] = [];
      for (const [pause, changes] of list) {
        now += pause;
        if (changes)
          rate = createRateCounter(rule, JSON.parse(JSON.stringify(rate.getRateState(now))) as RateState, now);
        if (rate.tryTakeRequest(now)) begun.push(now);
      }
      for (const at of begun) {
        expect(begun.filter((other) => other >= at && other < at + windowSeconds * 1000).length).toBeLessThanOrEqual(
          limit,
        );
      }
    }),
  );
});

test('the reported wait is long enough, and it is 0 while the limit is not reached', () => {
  const rate = createRateCounter({ limit: 3, windowSeconds: 1 }, {}, START);
  expect(rate.waitMs(START)).toBe(0);
  for (const after of [0, 250, 500]) expect(rate.tryTakeRequest(START + after)).toBe(true);
  expect(rate.tryTakeRequest(START + 600)).toBe(false);
  const waitMs = rate.waitMs(START + 600);
  expect(waitMs).toBeLessThanOrEqual(500);
  expect(rate.tryTakeRequest(START + 600 + waitMs)).toBe(true);
  expect(rate.tryTakeRequest(START + 600 + waitMs)).toBe(false);
});

test('a request counts until the slice in which it began has left the window, and no longer', () => {
  const rate = createRateCounter({ limit: 1, windowSeconds: 100 }, {}, START);
  expect(rate.tryTakeRequest(START)).toBe(true);
  expect(rate.waitMs(START)).toBe(110_000);
  expect(rate.tryTakeRequest(START + 109_999)).toBe(false);
  expect(rate.tryTakeRequest(START + 110_000)).toBe(true);
});

test('passing the state to another process neither lengthens nor shortens the wait', () => {
  const rule = { limit: 1, windowSeconds: 1 };
  const before = createRateCounter(rule, {}, START);
  expect(before.tryTakeRequest(START)).toBe(true);
  expect(createRateCounter(rule, before.getRateState(START + 500), START + 500).waitMs(START + 500)).toBe(600);
});

test('after the limit is lowered, the wait lasts until enough requests no longer count', () => {
  const before = createRateCounter({ limit: 3, windowSeconds: 1 }, {}, START);
  for (const after of [0, 200, 400]) expect(before.tryTakeRequest(START + after)).toBe(true);
  const lowered = createRateCounter({ limit: 2, windowSeconds: 1 }, before.getRateState(START + 400), START + 400);
  // Two of the three must leave the window before another one fits. The second began in the slice that ends at 300 ms.
  expect(lowered.waitMs(START + 400)).toBe(900);
});

test('after the window is shortened, requests counted in the longer window still count', () => {
  const before = createRateCounter({ limit: 1, windowSeconds: 60 }, {}, START);
  expect(before.tryTakeRequest(START)).toBe(true);
  expect(
    createRateCounter({ limit: 1, windowSeconds: 1 }, before.getRateState(START), START).tryTakeRequest(START),
  ).toBe(false);
});

test('if the clock is set back while counting, the wait ends with the oldest request, not with the first one counted', () => {
  const rate = createRateCounter({ limit: 2, windowSeconds: 1 }, {}, START);
  expect([rate.tryTakeRequest(START + 500), rate.tryTakeRequest(START)]).toEqual([true, true]);
  expect(rate.waitMs(START)).toBe(1100);
});

test('requests that a dead holder may have started count from the time its death was detected', () => {
  const rate = createRateCounter({ limit: 3, windowSeconds: 1 }, { lost: 2 }, START);
  expect([rate.tryTakeRequest(START), rate.tryTakeRequest(START)]).toEqual([true, false]);
});

test('a raised limit takes effect at once, and a changed window keeps the current count', () => {
  const before = createRateCounter({ limit: 1, windowSeconds: 1 }, {}, START);
  expect(before.tryTakeRequest(START)).toBe(true);
  const raised = createRateCounter({ limit: 2, windowSeconds: 1 }, before.getRateState(START), START);
  expect([raised.tryTakeRequest(START), raised.tryTakeRequest(START)]).toEqual([true, false]);
  const longer = createRateCounter({ limit: 2, windowSeconds: 60 }, before.getRateState(START), START);
  expect([longer.tryTakeRequest(START), longer.tryTakeRequest(START)]).toEqual([true, false]);
});

test('if the clock is set back, requests counted ahead of it count for one window, not until the clock catches up', () => {
  const rule = { limit: 2, windowSeconds: 1 };
  const rate = createRateCounter(rule, {}, START);
  while (rate.tryTakeRequest(START));
  const back = START - 3_600_000;
  const after = createRateCounter(rule, rate.getRateState(START), back);
  expect(after.tryTakeRequest(back)).toBe(false);
  expect(after.waitMs(back)).toBeLessThanOrEqual(1100);
  expect(after.tryTakeRequest(back + after.waitMs(back))).toBe(true);
});
