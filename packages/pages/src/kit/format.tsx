import type { ComponentChild } from 'preact';
import { locale } from './language.ts';

const relativeFormat = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });
const CLOCK = { hour: '2-digit', minute: '2-digit' } as const;
const dateFormat = new Intl.DateTimeFormat(locale, { year: 'numeric', month: 'short', day: 'numeric', ...CLOCK });
const clockFormat = new Intl.DateTimeFormat(locale, CLOCK);
const secondFormat = new Intl.DateTimeFormat(locale, { ...CLOCK, second: '2-digit' });
const decimalFormat = new Intl.NumberFormat(locale, {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
  useGrouping: false,
});
/** For tooltips: with the name of the time zone, because the ISO form says nothing to most people. */
const exactFormat = new Intl.DateTimeFormat(locale, {
  weekday: 'short',
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  ...CLOCK,
  second: '2-digit',
  timeZoneName: 'short',
});
const UNITS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
];

const dayFormat = new Intl.DateTimeFormat(locale);

const relativeText = (date: Date) => {
  const distance = date.getTime() - Date.now();
  const [unit, ms] = UNITS.find(([, size]) => Math.abs(distance) >= size) ?? ['second', 1000];
  return relativeFormat.format(Math.round(distance / ms), unit);
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

/** A time with the name of its zone; what is no time as it is. */
export function exactTime(value: string): string {
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? value : exactFormat.format(date);
}

/** The time of day: `14:05`. */
export const clockText = (value: string | number | Date, { hasSeconds = false } = {}): string =>
  (hasSeconds ? secondFormat : clockFormat).format(new Date(value));

/** A date without the time: `31/01/2030`. */
export const dayText = (date: Date): string => dayFormat.format(date);

/** A text with a capital at its start, such as the name of a state. */
export const sentenceCase = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** A time: relative within a week, else the local date. The tooltip has the exact time and its zone. */
export function Time({ value }: { value: string }): ComponentChild {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return value;
  const isNear = Math.abs(date.getTime() - Date.now()) < 7 * 86_400_000;
  return (
    <time datetime={value} title={exactTime(value)}>
      {isNear ? relativeText(date) : dateFormat.format(date)}
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
