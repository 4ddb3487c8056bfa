import type { ComponentChild } from 'preact';
import { locale } from './language.ts';

const relativeFormat = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const shortFormat = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' });
const CLOCK = { hour: '2-digit', minute: '2-digit' } as const;
const DAY = { month: 'short', day: 'numeric' } as const;
/** Within a year the date needs no year. */
const thisYearFormat = new Intl.DateTimeFormat(locale, { ...DAY, ...CLOCK });
const dateFormat = new Intl.DateTimeFormat(locale, { year: 'numeric', ...DAY, ...CLOCK });
const shortDayFormat = new Intl.DateTimeFormat(locale, { year: 'numeric', ...DAY });
const clockFormat = new Intl.DateTimeFormat(locale, CLOCK);
const secondFormat = new Intl.DateTimeFormat(locale, { ...CLOCK, second: '2-digit' });
const decimalFormat = new Intl.NumberFormat(locale, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
  useGrouping: false,
});
const ZONED = { weekday: 'short', year: 'numeric', ...DAY, ...CLOCK, timeZoneName: 'short' } as const;
/** For tooltips: with the name of the time zone, because the ISO form says nothing to most people. */
const exactFormat = new Intl.DateTimeFormat(locale, { ...ZONED, second: '2-digit' });
const exactMinuteFormat = new Intl.DateTimeFormat(locale, ZONED);
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

const dayFormat = new Intl.DateTimeFormat(locale);

const startOfDay = (time: Date | number) => new Date(time).setHours(0, 0, 0, 0);

const relativeText = (date: Date, format: Intl.RelativeTimeFormat) => {
  const now = Date.now();
  const distance = date.getTime() - now;
  const [unit, ms] = UNITS.find(([, size]) => Math.abs(distance) >= size) ?? ['second', 1000];
  // Days are those of the calendar: 30 hours before 2 o'clock is not yesterday.
  const span = unit === 'day' ? startOfDay(date) - startOfDay(now) : distance;
  return format.format(Math.round(span / ms), unit);
};

/** The sign between a number and its fraction: a comma in German. */
const DECIMAL_SIGN =
  new Intl.NumberFormat(locale).formatToParts(1.5).find(({ type }) => type === 'decimal')?.value ?? '.';

/** A number with the decimal sign of the page, and without grouping, so that it can be typed as it is shown. */
export const localNumber = (value: unknown): string => String(value).replace('.', DECIMAL_SIGN);

/** The number that somebody has typed, with a point: `1.234,5` in German is `1234.5`. What is no number stays as it is. */
export function parseLocalNumber(text: string): string {
  if (DECIMAL_SIGN === '.') return text;
  const isGrouped = /^\s*[+-]?\d{1,3}(?:\.\d{3})+(?:,\d*)?\s*$/.test(text);
  return (isGrouped ? text.replaceAll('.', '') : text).replace(',', '.');
}

/**
 * A time with the name of its zone; what is no time as it is.
 *
 * @param options.isShort leaves out the seconds of a full minute
 */
export function exactTime(value: string, { isShort = false } = {}): string {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return value;
  return (isShort && date.getTime() % 60_000 === 0 ? exactMinuteFormat : exactFormat).format(date);
}

/** The time of day: `14:05`. */
export const clockText = (value: string | number | Date, { hasSeconds = false } = {}): string =>
  (hasSeconds ? secondFormat : clockFormat).format(new Date(value));

/** A date without the time: `31/01/2030`. */
export const dayText = (date: Date): string => dayFormat.format(date);

/** A text with a capital at its start, such as the name of a state. */
export const sentenceCase = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function timeText(date: Date, isShort: boolean, isAbsolute: boolean): string {
  const isNear = Math.abs(date.getTime() - Date.now()) < 7 * 86_400_000;
  if (isNear && !isAbsolute) return relativeText(date, isShort ? shortFormat : relativeFormat);
  if (isShort) return shortDayFormat.format(date);
  return (date.getFullYear() === new Date().getFullYear() ? thisYearFormat : dateFormat).format(date);
}

interface TimeProps {
  value: string;
  /** For narrow places. */
  isShort?: boolean;
  /** For times that somebody has entered: the date and the time of day, also within a week. */
  isAbsolute?: boolean;
}

/** A time: relative within a week, else the local date. The tooltip has the exact time and its zone. */
export function Time({ value, isShort = false, isAbsolute = false }: TimeProps): ComponentChild {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return value;
  return (
    <time datetime={value} title={exactTime(value)}>
      {timeText(date, isShort, isAbsolute)}
    </time>
  );
}

/** A time as an element; nothing if there is none, so that `Facts` leaves it out. */
export const timeOf = (value: string | null | undefined): ComponentChild => value && <Time value={value} />;

/** A time span in ms as text, which stays on one line. */
export function durationText(ms: number): string {
  const [value, unit] =
    ms < 1000
      ? [ms, 'ms']
      : ms < 60_000
        ? [decimalFormat.format(ms / 1000), 's']
        : ms < 3_600_000
          ? [Math.round(ms / 60_000), 'min']
          : [Math.round(ms / 3_600_000), 'h'];
  return `${value}\u00a0${unit}`;
}

export const bytesText = (bytes: number): string => {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 2 ** 20 ? `${decimalFormat.format(bytes / 1024)} KB` : `${decimalFormat.format(bytes / 2 ** 20)} MB`;
};
