import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseDuration } from '../../../src/platform/helpers/duration.ts';
import { durationSetting, lifetimeSetting } from '../../../src/platform/helpers/duration-setting.ts';
import { parseSettings } from '../../../src/platform/helpers/parse-settings.ts';

test.each([
  ['500ms', 500],
  ['30s', 30_000],
  ['15m', 900_000],
  ['1.1s', 1100],
  ['0.5h', 1_800_000],
  ['7d', 604_800_000],
  [' 2h ', 7_200_000],
  ['0s', 0],
])('%j is a duration of %i ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['', '5', 's', '-1s', '1 s', '1e3s', '1.s', '.5s', '1w', '1S', '1s1m', '1111111111111s', '١s', '1,5s'])(
  '%j is no duration',
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

const keepDays = durationSetting('d', z.number().int().min(1).max(30));

test.each([
  [7, 7],
  ['7d', 7],
  ['48h', 2],
])('a setting in days takes %j', (given, days) => {
  expect(parseSettings(keepDays, given).data).toBe(days);
});

test.each([
  [31, 'must be at most 30'],
  ['31d', 'must be at most 30'],
  ['12h', 'must be a whole number'],
  ['a week', 'must be a number of days, or a duration such as "30s", "15m", "12h" or "7d"'],
  ['7', 'must be a number of days, or a duration such as "30s", "15m", "12h" or "7d"'],
  [true, 'must be a number, not a boolean'],
  [undefined, 'is required'],
])('a setting in days refuses %j', (given, message) => {
  expect(parseSettings(keepDays, given).error?.issues.map((issue) => issue.message)).toEqual([message]);
});

test.each(['25d', 2 ** 31, Number.POSITIVE_INFINITY])(
  'a setting in ms refuses %j, which no timer can wait for',
  (given) => {
    const { error } = parseSettings(durationSetting('ms', z.number().positive()), given);
    expect(error?.issues[0]?.message).toBe('must be at most 2147483647, about 24 days');
  },
);

test('a default in the unit of the name is kept', () => {
  expect(parseSettings(z.strictObject({ keepDays: keepDays.default(14) }), {}).data).toEqual({ keepDays: 14 });
});

test.each([
  ['90s', 90_000],
  ['1h', 3_600_000],
])('a lifetime of %j has %i ms', (given, ms) => {
  expect(parseSettings(lifetimeSetting('1h'), given).data).toBe(ms);
});

test.each([60, '61m', '0s', 'soon', null, undefined])('a lifetime of at most an hour refuses %j', (given) => {
  const message = 'must be a duration such as "30s", "15m", "12h" or "7d", greater than 0 and at most 1h';
  expect(parseSettings(lifetimeSetting('1h'), given).error?.issues).toMatchObject([{ message }]);
});

test('a lifetime names its bounds', () => {
  const { error } = parseSettings(lifetimeSetting('5m', '1s'), '500ms');
  expect(error?.issues[0]?.message).toMatch(/from 1s to 5m$/);
});
