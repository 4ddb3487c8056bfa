import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseRetryAfter } from '../../../src/platform/http/retry-after.ts';
import { anyCharacter } from '../../support/any-text.ts';

const DAY = 86_400_000;

describe('parseRetryAfter', () => {
  const now = Date.UTC(1994, 10, 6, 8, 49, 7);

  test.each([
    ['120', 120_000],
    ['120.1', 121_000],
    ['0', 0],
    ['0.001', 1_000],
    [' 5 ', 5_000],
    ['007', 7_000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 30_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 30_000],
    ['Sun Nov  6 08:49:37 1994', 30_000],
    ['Sun, 06 Nov 1994 08:49:07 GMT', 0],
    ['Tue, 29 Feb 2000 00:00:00 GMT', 365 * DAY],
    ['315360000', 365 * DAY],
    ['9'.repeat(400), 365 * DAY],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 365 * DAY],
  ])('%s', (value, expected) => {
    expect(parseRetryAfter(value, now)).toBe(expected);
  });

  test.each([
    undefined,
    '',
    '-5',
    '+5',
    '1e3',
    '0x10',
    '5s',
    'soon',
    'tomorrow 5',
    '1 2',
    '.5',
    '5.',
    'Infinity',
    'NaN',
    '1994-11-06T08:49:37Z',
    'Sun, 06 Nov 1994 08:49:06 GMT',
    'Sun, 06 Nov 1994 08:49:37 CET',
    'Sun, 06 Nov 1994 08:49:37',
    'Sun, 31 Feb 1995 08:49:37 GMT',
    'Sun, 06 Nox 1995 08:49:37 GMT',
    'Sun, 06 Nov 1995 24:00:00 GMT',
    'Sunday, 06-Nov-45 08:49:37 GMT',
    'Sun, 06 Nov 0094 08:49:37 GMT',
  ])('%j is ignored', (value) => {
    expect(parseRetryAfter(value, now)).toBeNull();
  });

  test('a two-digit year up to 50 years ahead is in the future', () => {
    expect(parseRetryAfter('Sunday, 06-Nov-44 08:49:37 GMT', now)).toBe(365 * DAY);
  });

  test('every future date is parsed to the second, and any text yields null or a wait within the limits', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 365 * 86_400 }), (seconds) => {
        expect(parseRetryAfter(new Date(now + seconds * 1000).toUTCString(), now)).toBe(seconds * 1000);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const wait = parseRetryAfter(text, now);
        expect(wait === null || (wait >= 0 && wait <= 365 * DAY)).toBe(true);
      }),
    );
  });
});
