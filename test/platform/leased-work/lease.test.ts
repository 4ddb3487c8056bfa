import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLeaseRenewals } from '../../../src/platform/leased-work/lease.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const warn = vi.fn();
const renewalsWith = (renew: (leases: readonly string[]) => Promise<readonly string[]> | Promise<void>) =>
  createLeaseRenewals<string>({ everyMs: 1000, what: 'tests', log: { warn }, renew });

test('all held leases are renewed together, and removed leases are not renewed', async () => {
  const renew = vi.fn(async (_leases: readonly string[]) => undefined);
  const renewals = renewalsWith(renew);
  renewals.add('a');
  renewals.add('b');
  await vi.advanceTimersByTimeAsync(1000);
  renewals.remove('a');
  await vi.advanceTimersByTimeAsync(1000);
  expect(renew.mock.calls).toEqual([[['a', 'b']], [['b']]]);
});

test('no timer runs while no lease is held, or after a stop', async () => {
  const renewals = renewalsWith(async () => undefined);
  expect(vi.getTimerCount()).toBe(0);
  renewals.add('a');
  expect(vi.getTimerCount()).toBe(1);
  renewals.remove('a');
  expect(vi.getTimerCount()).toBe(0);
  renewals.add('b');
  renewals.stop();
  renewals.add('c');
  expect(vi.getTimerCount()).toBe(0);
});

test('a lease that a renewal did not extend is reported as lost, unless it was released meanwhile', async () => {
  const { promise, resolve } = Promise.withResolvers<string[]>();
  const renewals = renewalsWith(() => promise);
  const lost: string[] = [];
  for (const lease of ['a', 'b', 'c']) renewals.add(lease, () => lost.push(lease));
  await vi.advanceTimersByTimeAsync(1000);
  renewals.remove('c');
  resolve(['b']);
  await vi.advanceTimersByTimeAsync(0);
  expect(lost).toEqual(['a']);
});

test('a failed renewal loses no lease, is logged, and is followed by the next renewal', async () => {
  const renew = vi.fn<(leases: readonly string[]) => Promise<readonly string[]>>();
  renew.mockRejectedValueOnce(new Error('Postgres is away'));
  renew.mockResolvedValue(['a']);
  const onLost = vi.fn();
  renewalsWith(renew).add('a', onLost);
  await vi.advanceTimersByTimeAsync(2000);
  expect(renew).toHaveBeenCalledTimes(2);
  expect(onLost).not.toHaveBeenCalled();
  expect(warn).toHaveBeenCalledWith(expect.objectContaining({ leases: 1 }), 'the leases of tests were not renewed');
});

test('a slow renewal never overlaps with the next one', async () => {
  const renew = vi.fn(() => new Promise<void>(() => undefined));
  renewalsWith(renew).add('a');
  await vi.advanceTimersByTimeAsync(5000);
  expect(renew).toHaveBeenCalledTimes(1);
});

test('after a failed renewal, the leases are renewed as soon as Postgres is back, not only at the next interval', async () => {
  const back = Promise.withResolvers<void>();
  const renew = vi.fn(async (_leases: readonly string[]) => undefined);
  renew.mockRejectedValueOnce(new Error('Postgres is down'));
  const renewals = createLeaseRenewals<string>({
    ...{ everyMs: 1000, what: 'tests', log: { warn }, renew },
    waitUntilAvailable: () => back.promise,
  });
  renewals.add('kept');
  renewals.add('finished');
  // However long the outage lasts, the renewals do not add up.
  await vi.advanceTimersByTimeAsync(300_000);
  expect(renew).toHaveBeenCalledTimes(1);
  renewals.remove('finished');
  back.resolve();
  await vi.advanceTimersByTimeAsync(0);
  expect(renew.mock.calls).toEqual([[['kept', 'finished']], [['kept']]]);
  renewals.stop();
});
