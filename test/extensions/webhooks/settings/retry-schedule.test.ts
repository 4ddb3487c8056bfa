import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  computeAttemptDelay,
  DEFAULT_RETRY_SCHEDULE,
  parseSchedule,
} from '../../../../src/extensions/webhooks/settings/retry-schedule.ts';

const DAY = 86_400_000;

describe('parseSchedule', () => {
  test('returns the documented default', () => {
    expect(DEFAULT_RETRY_SCHEDULE).toEqual(parseSchedule(['5s', '30s', '2m', '10m', '30m', '2h', '6h']));
  });

  test('reads milliseconds and every unit', () => {
    expect(parseSchedule([1500, '500ms', '30s', '5m', '2h', '1d', 0, ' 7s '])).toEqual([
      1500, 500, 30_000, 300_000, 7_200_000, 86_400_000, 0, 7_000,
    ]);
    expect(parseSchedule([])).toEqual([]);
  });

  test('lists every entry that is not a duration', () => {
    expect(() => parseSchedule(['5s', '5 s', 10, -1, '1w'])).toThrow(
      /retrySchedule: "5 s", -1, "1w" is not a valid wait/,
    );
  });

  test.each([
    '',
    's',
    '5',
    '-5s',

    '5S',
    '1e3s',
    '5s5m',
    '366d',
    1.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    366 * DAY,
    null,
    {},
  ])('reports %j as invalid', (entry) => {
    expect(() => parseSchedule([entry as string])).toThrow('retrySchedule');
  });

  test('reads its own output unchanged', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 365 * DAY })), (waits) => {
        expect(parseSchedule(waits)).toEqual(waits);
      }),
    );
  });
});

describe('nextAttemptDelay', () => {
  const schedule = [1_000, 10_000, 5_000];
  const middle = () => 0.5;

  test.each([
    ['for the first wait', { attempt: 1 }, 1_000],
    ['for the second wait', { attempt: 2 }, 10_000],
    ['for the last wait', { attempt: 3 }, 5_000],
    ['after the last wait', { attempt: 4 }, null],
    ['long after the schedule is used up', { attempt: 400 }, null],
    ['at the minimum of the jitter', { attempt: 1, random: () => 0 }, 800],
    ['at the maximum of the jitter', { attempt: 1, random: () => 1 - Number.EPSILON }, 1_200],
    ['for a Retry-After longer than the wait', { attempt: 1, retryAfterMs: 7_000 }, 7_000],
    ['for a Retry-After shorter than the wait', { attempt: 2, retryAfterMs: 7_000 }, 10_000],
    ['for a Retry-After longer than every wait', { attempt: 1, retryAfterMs: 120_000 }, 120_000],
    ['for a Retry-After of 24 hours', { attempt: 1, retryAfterMs: DAY }, DAY],
    ['for a Retry-After capped at 24 hours', { attempt: 1, retryAfterMs: 10 * 365 * DAY }, DAY],
    ['for an infinite Retry-After', { attempt: 1, retryAfterMs: Number.POSITIVE_INFINITY }, DAY],
    [
      'for a Retry-After capped at a longer wait',
      { attempt: 1, retryAfterMs: 9 * DAY, schedule: [1_000, 3 * DAY] },
      3 * DAY,
    ],
    ['for a Retry-After with a used-up schedule', { attempt: 4, retryAfterMs: 1 }, null],
    ['for a Retry-After of null', { attempt: 1, retryAfterMs: null }, 1_000],
    ['for a negative Retry-After', { attempt: 1, retryAfterMs: -1 }, 1_000],
  ])('is correct %s', (_, plan, expected) => {
    expect(computeAttemptDelay({ schedule, random: middle, ...plan })).toBe(expected);
  });

  test('never retries with an empty schedule', () => {
    expect(computeAttemptDelay({ schedule: [], attempt: 1, retryAfterMs: 5 })).toBeNull();
  });

  test.each([0, -1, 1.5, Number.NaN])('treats attempt %s as an error of the caller', (attempt) => {
    expect(() => computeAttemptDelay({ schedule, attempt })).toThrow(RangeError);
  });

  test('is a whole number, within 20% of the schedule or exactly what the receiver may request', () => {
    const waits = fc.array(fc.integer({ min: 0, max: 365 * DAY }), { minLength: 1, maxLength: 10 });
    const requestedWaits = fc.option(fc.integer({ min: 0, max: 1000 * DAY }));
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(waits, fc.nat(), requestedWaits, random, (schedule, index, retryAfterMs, drawn) => {
        const attempt = (index % schedule.length) + 1;
        const wait = schedule[attempt - 1]!;
        const allowed = Math.min(retryAfterMs ?? 0, Math.max(DAY, ...schedule));
        const delay = computeAttemptDelay({ schedule, attempt, retryAfterMs, random: () => drawn })!;
        expect(Number.isInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(Math.max(wait * 0.8, allowed));
        expect(delay).toBeLessThanOrEqual(Math.max(wait * 1.2, allowed));
      }),
    );
  });

  test('allows 1 + length(schedule) attempts in a row', () => {
    let attempts = 1;
    while (computeAttemptDelay({ schedule: DEFAULT_RETRY_SCHEDULE, attempt: attempts }) !== null) attempts += 1;
    expect(attempts).toBe(8);
  });
});
