import { expect, test } from 'vitest';
import { createReplicaProgress, removeBlockHeader } from '../../../../src/platform/data/replica/progress.ts';

function createClock() {
  const clock = { now: 0 };
  return { clock, progress: createReplicaProgress(() => clock.now) };
}

test('a replica has the commits before the newest sample whose position it has replayed', () => {
  const { progress } = createClock();
  progress.addSample({ askedAt: 0, clock: 1000, position: 10 });
  progress.addSample({ askedAt: 5, clock: 1005, position: 20 });
  expect(progress.hasCommitsUntil(1000)).toBe(false);
  progress.setReplayed(9);
  expect(progress.hasCommitsUntil(1000)).toBe(false);
  progress.setReplayed(19);
  expect([1000, 1001].map(progress.hasCommitsUntil)).toEqual([true, false]);
  progress.setReplayed(20);
  expect([1005, 1006].map(progress.hasCommitsUntil)).toEqual([true, false]);
});

test('the lag is the time for which the oldest sample waits, and the age that of the newest one that the replica has reached', () => {
  const { clock, progress } = createClock();
  expect(progress.lagMs()).toBe(Number.POSITIVE_INFINITY);
  progress.addSample({ askedAt: 100, clock: 7100, position: 10 });
  clock.now = 350;
  expect(progress.lagMs()).toBe(Number.POSITIVE_INFINITY);
  progress.setReplayed(10);
  expect([progress.lagMs(), progress.ageMs()]).toEqual([0, 250]);
  clock.now = 1350;
  progress.addSample({ askedAt: 1300, clock: 8300, position: 20 });
  expect([progress.lagMs(), progress.ageMs()]).toEqual([50, 1250]);
});

test('the time of the primary is estimated from the last sample, for a minute', () => {
  const { clock, progress } = createClock();
  expect(progress.primaryNow()).toBeUndefined();
  progress.addSample({ askedAt: 100, clock: 7100, position: 10 });
  clock.now = 350;
  expect(progress.primaryNow()).toBe(7350);
  clock.now = 100_000;
  expect(progress.primaryNow()).toBeUndefined();
});

test('a replica that stands still for long does not fill the memory, and catches up in steps', () => {
  const { clock, progress } = createClock();
  for (let i = 0; i < 10_000; i++) progress.addSample({ askedAt: i, clock: i, position: i });
  clock.now = 10_000;
  progress.setReplayed(5000);
  const { length } = Array.from({ length: 10_000 }, (_, i) => i).filter(progress.hasCommitsUntil);
  expect(length).toBeLessThanOrEqual(5001);
  progress.setReplayed(9999);
  expect([progress.lagMs(), progress.ageMs()]).toEqual([0, 1]);
});

test('after a change of servers, positions of the old one mean nothing', () => {
  const { progress } = createClock();
  progress.addSample({ askedAt: 0, clock: 1000, position: 10 });
  progress.setReplayed(10);
  progress.reset();
  expect(progress.hasCommitsUntil(1000)).toBe(false);
  expect(progress.lagMs()).toBe(Number.POSITIVE_INFINITY);
});

test.each([
  [8192 * 3 + 24, 8192 * 3],
  [8192 * 3 + 40, 8192 * 3 + 40],
  [8192 * 3 + 32, 8192 * 3 + 32],
  [8192 * 3, 8192 * 3],
  [2 ** 24 + 40, 2 ** 24],
  [2 ** 24 + 48, 2 ** 24 + 48],
])('the position %i is %i without an empty header', (position, expected) => {
  expect(removeBlockHeader(position, 8192, 2 ** 24)).toBe(expected);
});
