import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addJitter, addPositiveJitter, getScheduledWait } from '../../../src/platform/leased-work/retry-schedule.ts';

test('each failed attempt has a wait, except the last one', () => {
  expect([1, 2, 3].map((attempt) => getScheduledWait([10, 20], attempt))).toEqual([10, 20, undefined]);
});

test.each([0, -1, 1.5, Number.NaN])('%d is not a valid attempt number', (attempt) => {
  expect(() => getScheduledWait([10], attempt)).toThrow(RangeError);
});

test('jitter changes a wait by up to a fifth; a wait that must not be shortened is only lengthened', () => {
  expect([0, 0.5, 1].map((random) => addJitter(1000, random))).toEqual([800, 1000, 1200]);
  expect([0, 0.5, 1].map((random) => addPositiveJitter(1000, random))).toEqual([1000, 1100, 1200]);
  fc.assert(
    fc.property(fc.nat(10 ** 9), (wait) => {
      expect(addPositiveJitter(wait)).toBeGreaterThanOrEqual(wait);
      const jittered = addJitter(wait);
      expect(Number.isInteger(jittered)).toBe(true);
      expect(jittered).toBeGreaterThanOrEqual(wait * 0.8);
      expect(jittered).toBeLessThanOrEqual(wait * 1.2);
    }),
  );
});
