import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  clearFailures,
  EMPTY_STATE,
  type LockoutState,
  msUntilStateExpires,
  recordFailure,
  recordSuccess,
  releaseReservation,
  renewReservation,
  reserveAttempt,
} from '../../../src/accounts/lockout/state.ts';

const rule = { maxAttempts: 5, windowMs: 900_000, lockMs: 600_000 };

/** Returns the state after attempts that failed one after the other at these times. */
function failing(times: readonly number[]): LockoutState {
  return times.reduce((state, now, i) => recordFailure(state, rule, `f${i}`, now).state, EMPTY_STATE);
}

test('the fifth failure within the window locks the name and returns the end of the lock', () => {
  const four = failing([0, 1, 2, 3]);
  expect(four.lockedUntil).toBe(0);
  const { state, result: response } = recordFailure(four, rule, 'x', 899_999);
  expect(response).toBe(899_999 + rule.lockMs);
  expect(reserveAttempt(state, rule, 'y', 900_000).result).toBe(rule.lockMs - 1);
});

test('the window slides: five failures lock whenever they fall within it, and an older one no longer counts', () => {
  const five = failing([0, 800_000, 800_001, 800_002, 900_000]);
  expect(five.lockedUntil).toBe(0);
  expect(recordFailure(five, rule, 'x', 900_001).result).toBe(900_001 + rule.lockMs);
});

test('nothing is left of a lock after it ends', () => {
  const locked = failing([1, 2, 3, 4, 5]);
  expect(reserveAttempt(locked, rule, 'x', rule.lockMs + 4).result).toBe(1);
  const { state, result: response } = reserveAttempt(locked, rule, 'x', rule.lockMs + 5);
  expect(response).toBe('go');
  expect(state).toMatchObject({ failures: [], lockedUntil: 0 });
});

test('no more attempts are reserved than may still fail; a finished attempt releases its reservation, and a successful one clears the failures', () => {
  let state = failing([0, 1]);
  for (const id of ['a', 'b', 'c']) {
    const decided = reserveAttempt(state, rule, id, 2);
    expect(decided.result).toBe('go');
    state = decided.state;
  }
  expect(reserveAttempt(state, rule, 'd', 2)).toEqual({ state, result: 'wait' });
  expect(reserveAttempt(releaseReservation(state, rule, 'a', 3).state, rule, 'd', 3).result).toBe('go');
  const passed = recordSuccess(state, rule, 'a', 3).state;
  expect(passed).toMatchObject({ failures: [] });
  expect(Object.keys(passed.flights)).toEqual(['b', 'c']);
});

test('a lock remains when an attempt passes while the name is locked', () => {
  const locked = failing([1, 2, 3, 4, 5]);
  expect(recordSuccess(locked, rule, 'x', 6).state.lockedUntil).toBe(locked.lockedUntil);
});

test('an attempt that fails after the name was locked does not extend the lock and is not counted', () => {
  const reserved = reserveAttempt(EMPTY_STATE, rule, 'late', 1).state;
  const locked = { ...failing([1, 2, 3, 4, 5]), flights: reserved.flights };
  expect(recordFailure(locked, rule, 'late', 6)).toEqual({
    state: { failures: [], flights: {}, lockedUntil: locked.lockedUntil },
    result: undefined,
  });
});

test('a reservation that is not renewed expires; one that is renewed in time stays', () => {
  let state: LockoutState = EMPTY_STATE;
  for (const id of ['a', 'b', 'c', 'd', 'e']) state = reserveAttempt(state, rule, id, 0).state;
  expect(reserveAttempt(state, rule, 'x', 9_999).result).toBe('wait');
  expect(reserveAttempt(state, rule, 'x', 10_000).result).toBe('go');
  for (const id of ['a', 'b', 'c', 'd', 'e']) state = renewReservation(state, rule, id, 5_000).state;
  expect(reserveAttempt(state, rule, 'x', 10_000).result).toBe('wait');
});

test('renewing an attempt that has ended does not create a reservation', () => {
  const reserved = reserveAttempt(EMPTY_STATE, rule, 'a', 0).state;
  const over = recordSuccess(reserved, rule, 'a', 1).state;
  expect(renewReservation(over, rule, 'a', 2)).toEqual({ state: over, result: undefined });
});

test('a stricter rule applies at once to failures that are already counted', () => {
  const four = failing([0, 1, 2, 3]);
  for (const maxAttempts of [3, 4]) {
    expect(reserveAttempt(four, { ...rule, maxAttempts }, 'x', 4).result).toBe(3 + rule.lockMs - 4);
  }
});

test('clearing the failures restarts the count and keeps locks and running attempts', () => {
  const reserved = reserveAttempt(failing([0, 1, 2, 3]), rule, 'a', 4).state;
  expect(clearFailures(reserved, rule, 5).state).toEqual({ ...reserved, failures: [] });
  const locked = { ...failing([1, 2, 3, 4, 5]), failures: [6] };
  expect(clearFailures(locked, rule, 7).state).toMatchObject({ failures: [], lockedUntil: locked.lockedUntil });
  const inFlight = reserveAttempt(EMPTY_STATE, rule, 'a', 0).state;
  expect(clearFailures(inFlight, rule, 1).state).toBe(inFlight);
});

test('a lockout state expires when everything in it has expired', () => {
  expect(msUntilStateExpires(EMPTY_STATE, rule, 5)).toBe(0);
  expect(msUntilStateExpires(failing([0, 10]), rule, 20)).toBe(rule.windowMs - 10);
  expect(msUntilStateExpires(failing([0, 1, 2, 3, 4]), rule, 4)).toBe(rule.lockMs);
  expect(
    msUntilStateExpires(recordSuccess(reserveAttempt(EMPTY_STATE, rule, 'a', 0).state, rule, 'a', 1).state, rule, 1),
  ).toBe(0);
});

type Step = { act: 'begin' | 'fail' | 'pass' | 'abandon' | 'wait'; which: number; ms: number };

const step: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom('begin', 'begin', 'begin', 'fail', 'fail', 'pass', 'abandon', 'wait'),
  which: fc.nat(20),
  ms: fc.oneof(fc.nat(5), fc.nat(400_000)),
});

test('in any sequence of events, five failures in a window cause a lock, and no attempt starts while it holds', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      let state: LockoutState = EMPTY_STATE;
      let now = 1;
      let flying: string[] = [];
      let failures: number[] = [];
      let lockedUntil = 0;
      for (const [i, { act, which, ms }] of steps.entries()) {
        // Attempts in flight renew their reservations in time, however long they take.
        for (let left = act === 'wait' ? ms : 0; left > 0; left -= 9_999) {
          now += Math.min(left, 9_999);
          for (const id of flying) state = renewReservation(state, rule, id, now).state;
        }
        const id = flying[which % Math.max(1, flying.length)];
        if (act === 'begin') {
          const recent = failures.filter((at) => at > now - rule.windowMs);
          const free = recent.length + flying.length < rule.maxAttempts;
          const decided = reserveAttempt(state, rule, `a${i}`, now);
          state = decided.state;
          expect(decided.result).toBe(now < lockedUntil ? lockedUntil - now : free ? 'go' : 'wait');
          if (decided.result === 'go') flying.push(`a${i}`);
        } else if (id !== undefined && act !== 'wait') {
          flying = flying.filter((one) => one !== id);
          if (act === 'pass') failures = [];
          if (act === 'fail') {
            failures = [...failures.filter((at) => at > now - rule.windowMs), now];
            const decided = recordFailure(state, rule, id, now);
            state = decided.state;
            expect(decided.result).toBe(failures.length === 5 ? now + rule.lockMs : undefined);
            if (failures.length === 5) {
              lockedUntil = now + rule.lockMs;
              failures = [];
            }
          } else state = (act === 'pass' ? recordSuccess : releaseReservation)(state, rule, id, now).state;
        }
      }
    }),
  );
});
