import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  DeadlineError,
  withDeadline,
  withTimeoutFallback,
} from '../../../../src/platform/helpers/concurrency/deadline.ts';

// Without setTimeout, which connections of other test files in this process may use meanwhile.
beforeEach(() => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setImmediate', 'clearImmediate'] }));
afterEach(() => vi.useRealTimers());

const never = () => new Promise<string>(() => undefined);

test('work that ends in time decides the outcome and leaves no timer behind', async () => {
  expect(await withDeadline(Promise.resolve('done'), 1000)).toBe('done');
  await expect(withDeadline(Promise.reject(new Error('broken')), 1000)).rejects.toThrow('broken');
  expect(await withTimeoutFallback(Promise.resolve('done'), 1000, undefined)).toBe('done');
  await expect(withTimeoutFallback(Promise.reject(new Error('broken')), 1000, undefined)).rejects.toThrow('broken');
  expect(vi.getTimerCount()).toBe(0);
});

test('late work ends in an error or returns the fallback', async () => {
  const failing = expect(withDeadline(never(), 2000)).rejects.toThrow(new DeadlineError('no response within 2 s'));
  const named = expect(withDeadline(never(), 2000, 'too late')).rejects.toThrow('too late');
  const falling = withTimeoutFallback(never(), 2000, 'fallback');
  await vi.advanceTimersByTimeAsync(2001);
  await failing;
  await named;
  expect(await falling).toBe('fallback');
  expect(vi.getTimerCount()).toBe(0);
});

test('a deadline in the past ends the wait immediately', async () => {
  const late = withTimeoutFallback(never(), -5, 'fallback');
  await vi.advanceTimersByTimeAsync(2);
  expect(await late).toBe('fallback');
});

test('a failure after the deadline is ignored', async () => {
  const { promise, reject } = Promise.withResolvers<string>();
  const late = withTimeoutFallback(promise, 10, 'fallback');
  await vi.advanceTimersByTimeAsync(20);
  expect(await late).toBe('fallback');
  reject(new Error('nobody waits'));
  await vi.advanceTimersByTimeAsync(1);
});
