import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findCronError, isTimeZone, parseCron } from '../../../src/jobs/schedules/cron.ts';
import { selectDueTicks } from '../../../src/jobs/schedules/ticks.ts';

const NOW = Date.parse('2026-11-24T12:00:00Z');

/** The next ticks after a time. */
function ticksAfter(cron: string, timeZone: string, after: string, count: number): string[] {
  const { next } = parseCron(cron, timeZone);
  const found: string[] = [];
  for (let at = Date.parse(after); found.length < count; ) {
    at = next(at)!;
    found.push(new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

describe('in Berlin, where clocks change on 29 March and 25 October 2026', () => {
  const ticks = (cron: string, after: string, count: number) => ticksAfter(cron, 'Europe/Berlin', after, count);

  test('a tick in the skipped hour comes once, at the end of the gap', () => {
    expect(ticks('30 2 * * *', '2026-03-28T12:00Z', 2)).toEqual(['2026-03-29T01:00', '2026-03-30T00:30']);
    expect(ticks('0,30 2 * * *', '2026-03-28T12:00Z', 3)).toEqual([
      '2026-03-29T01:00',
      '2026-03-30T00:00',
      '2026-03-30T00:30',
    ]);
  });

  test('a tick in the repeated hour comes once, the first time', () => {
    expect(ticks('30 2 * * *', '2026-10-24T12:00Z', 2)).toEqual(['2026-10-25T00:30', '2026-10-26T01:30']);
    expect(ticks('30 2 * * *', '2026-10-25T00:30Z', 1)).toEqual(['2026-10-26T01:30']);
  });

  test('ticks of every hour or few minutes follow the real time', () => {
    expect(ticks('0 * * * *', '2026-03-29T00:00Z', 3)).toEqual([
      '2026-03-29T01:00',
      '2026-03-29T02:00',
      '2026-03-29T03:00',
    ]);
    expect(ticks('*/30 * * * *', '2026-10-25T00:00Z', 4)).toEqual([
      '2026-10-25T00:30',
      '2026-10-25T01:00',
      '2026-10-25T01:30',
      '2026-10-25T02:00',
    ]);
  });
});

test.each([
  ['* * * * * *', /six fields/],
  ['* * * *', /must have five fields/],
  ['', /must have five fields/],
  ['@daily', /must have five fields/],
  ['60 * * * *', /malformed: Invalid value for minute: 60/],
  ['0 24 * * *', /malformed/],
  ['0 0 0 * *', /malformed/],
  ['0 0 * 13 *', /malformed/],
  ['*/0 * * * *', /malformed/],
  ['10-5 * * * *', /malformed/],
  ['0 0 L * *', /"L" is not a field/],
  ['0 0 * * FRI#2', /"FRI#2" is not a field/],
  ['0 0 * FOO *', /"FOO" is not a field/],
  ['0 0 30 2 *', /never has a tick/],
  ['0 0 31 4,6,9,11 *', /never has a tick/],
])('the expression "%s" is refused', (cron, message) => {
  expect(findCronError(cron, NOW)).toMatch(message);
});

test.each(['* * * * *', '*/5 0-6 1,15 * *', '0 2 * * MON-FRI', '0 0 29 2 *', '5  4 * jan 7', '0 0 * * SUN'])(
  'the expression "%s" is accepted',
  (cron) => {
    expect(findCronError(cron, NOW)).toBeUndefined();
  },
);

test('time zones are known by name', () => {
  expect(['UTC', 'Europe/Berlin', 'America/New_York'].every(isTimeZone)).toBe(true);
  expect(['Mars/Olympus', '', 'Berlin', '../etc'].some(isTimeZone)).toBe(false);
});

test('ticks are found forward and backward alike, strictly increasing, in every time zone', () => {
  const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu'];
  const number = (max: number) => fc.oneof(fc.constant('*'), fc.integer({ min: 0, max }).map(String));
  fc.assert(
    fc.property(
      number(59),
      number(23),
      fc.constantFrom(...zones),
      fc.integer({ min: 0, max: 400 }),
      (minute, hour, zone, days) => {
        const { next, latest } = parseCron(`${minute} ${hour} * * *`, zone);
        const from = Date.UTC(2026, 0, 1) + days * 86_400_000;
        const forward: number[] = [];
        for (let at = from; forward.length < 5; ) {
          at = next(at)!;
          forward.push(at);
        }
        expect(forward.every((tick, i) => tick > (forward[i - 1] ?? from))).toBe(true);
        expect(latest(5, forward[4]!).reverse()).toEqual(forward);
      },
    ),
  );
});

describe('of ticks that were missed', () => {
  const ticks = parseCron('0 * * * *', 'UTC');
  const hour = (h: number) => Date.UTC(2026, 10, 24, h);
  const due = (catchUp: 'none' | 'latest' | 'all', nextAt: number, now: number) =>
    selectDueTicks({ ticks, catchUp }, nextAt, now);

  test('none, the latest or all are enqueued', () => {
    const now = hour(5) + 30 * 60_000;
    expect(due('none', hour(3), now)).toEqual({ enqueued: [], last: hour(5), dropped: 3 });
    expect(due('latest', hour(3), now)).toEqual({ enqueued: [hour(5)], last: hour(5), dropped: 2 });
    expect(due('all', hour(3), now)).toEqual({ enqueued: [hour(3), hour(4), hour(5)], last: hour(5), dropped: 0 });
  });

  test('a tick that is due now counts as on time', () => {
    expect(due('none', hour(3), hour(3))).toEqual({ enqueued: [hour(3)], last: hour(3), dropped: 0 });
    expect(due('none', hour(3), hour(4) + 1000)).toEqual({ enqueued: [hour(4)], last: hour(4), dropped: 1 });
    expect(due('latest', hour(3), hour(3) - 1)).toBeUndefined();
  });

  test('at most the last hundred are enqueued', () => {
    const selected = due('all', hour(0) - 1000 * 3_600_000, hour(5));
    expect(selected!.enqueued).toHaveLength(100);
    expect(selected!.enqueued.at(-1)).toBe(hour(5));
    expect(selected!.dropped).toBe(1);
  });
});
