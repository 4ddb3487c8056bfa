import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextRetryAt } from '../../../src/push/delivery/chunk-sender.ts';

const NOW = 1_800_000_000_000;
const failed = { attempts: 1, retryAfterMs: undefined, createdAt: NOW, expiresAt: undefined };

test.each([
  [1, 1000],
  [2, 5000],
  [3, 30_000],
  [4, 120_000],
  [5, 600_000],
])('after try %i the next one is %i ms later, plus or minus a fifth', (attempts, wait) => {
  const at = (random: number) => nextRetryAt({ ...failed, attempts }, NOW, random)! - NOW;
  expect([at(0), at(0.5), at(1)]).toEqual([wait * 0.8, wait, wait * 1.2]);
});

test('no try follows the sixth', () => {
  expect(nextRetryAt({ ...failed, attempts: 6 }, NOW, 0.5)).toBeUndefined();
});

test('a retry that would fall on the end of the ttl is dropped; 1 ms earlier it is made', () => {
  expect(nextRetryAt({ ...failed, expiresAt: NOW + 1000 }, NOW, 0.5)).toBeUndefined();
  expect(nextRetryAt({ ...failed, expiresAt: NOW + 1001 }, NOW, 0.5)).toBe(NOW + 1000);
});

test('a retry is never before the time that the provider allows, never at or after the end of the ttl, and never after 28 days', () => {
  const some = fc.record({
    attempts: fc.integer({ min: 1, max: 8 }),
    retryAfterMs: fc.option(fc.integer({ min: 1, max: 10 ** 10 }), { nil: undefined }),
    ttl: fc.option(fc.integer({ min: 0, max: 10 ** 7 }), { nil: undefined }),
    age: fc.integer({ min: 0, max: 10 ** 6 }),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
  });
  const property = fc.property(some, ({ attempts, retryAfterMs, ttl, age, random }) => {
    const createdAt = NOW - age;
    const expiresAt = ttl === undefined ? undefined : createdAt + ttl;
    const at = nextRetryAt({ attempts, retryAfterMs, createdAt, expiresAt }, NOW, random);
    if (at === undefined) return;
    expect(at).toBeGreaterThanOrEqual(NOW + (retryAfterMs ?? 800));
    expect(at).toBeLessThan(expiresAt ?? createdAt + 28 * 86_400_000);
  });
  fc.assert(property, { numRuns: 1000 });
});
