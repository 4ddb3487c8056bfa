import { z } from 'zod';
import { Field } from '../../../declare/field.ts';
import type { ColumnType } from '../column-type.ts';
import { type FieldType, ORDER_COMPARISONS } from '../field-type.ts';

/** Message for a value that is not a date. */
export const NOT_A_DATE = 'Must be a date: an ISO 8601 string or epoch milliseconds';
const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)?$/;
const MIN_TIME = Date.parse('0001-01-01T00:00:00.000Z');
const MAX_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Converts an ISO date (with or without a time; without a zone it is UTC) or integer epoch ms to an ISO string in UTC with milliseconds.
 * Undefined for anything else, including 30 February and the years 0 and 10000.
 */
export function parseDateToIso(value: string | number | Date): string | undefined {
  if (typeof value === 'string') {
    const match = ISO.exec(value);
    if (match === null || !isCalendarDay(Number(match[1]), Number(match[2]), Number(match[3]))) return undefined;
  }
  const zoneless = typeof value === 'string' && value.length > 10 && !/(?:Z|[+-]\d{2}:\d{2})$/.test(value);
  const ms = typeof value === 'string' ? Date.parse(zoneless ? `${value}Z` : value) : Number(value);
  return Number.isInteger(ms) && ms >= MIN_TIME && ms <= MAX_TIME ? new Date(ms).toISOString() : undefined;
}

const EPOCH_TEXT = /^-?\d{6,}$/;
// A day, a month or a time without dashes (20250131, 202501, 20250131120000) rather than a time in January 1970 or in the year 2611.
const DATE_WITHOUT_DASHES =
  /^-?\d{8}$|^\d{4}(?:0[1-9]|1[0-2])(?:(?:0[1-9]|[12]\d|3[01])(?:[01]\d|2[0-3])[0-5]\d[0-5]\d)?$/;

/** Converts the text of a query to a date: ISO 8601, or epoch milliseconds. Undefined for any other text, and for a date without dashes. */
function parseDateText(text: string): string | undefined {
  if (DATE_WITHOUT_DASHES.test(text)) return undefined;
  return parseDateToIso(EPOCH_TEXT.test(text) ? Number(text) : text);
}

/** Dates as databases print them: a space before the time or the zone, zones without a colon or minutes, or by name. */
const DATABASE_DATE =
  /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(?:(Z|UTC|GMT)|([+-]\d{2})(?::?(\d{2}))?)?$/i;

/**
 * Converts a date in a file to an ISO string: all that `parseDateToIso` reads, the forms that databases print, and the digits of epoch
 * milliseconds. Fewer than eleven digits are no date: they are rather a day without dashes or epoch seconds than a time in early 1970.
 */
export function parseFileDate(value: string | number): string | undefined {
  if (typeof value === 'number') return parseDateToIso(value);
  const text = value.trim();
  if (/^-?\d+$/.test(text)) return text.length < 11 ? undefined : parseDateText(text);
  const [, day, time, , hours, minutes = '00'] = DATABASE_DATE.exec(text) ?? [];
  if (day === undefined) return parseDateToIso(text);
  return parseDateToIso(`${day}T${time}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`);
}

// Date.parse converts 30 February to a day in March.
function isCalendarDay(year: number, month: number, day: number): boolean {
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
}

function formatDateBound(bound: string | number | Date): string {
  return parseDateToIso(bound) ?? String(bound);
}

const TIMESTAMP: ColumnType = {
  sql: 'timestamp(3) with time zone',
  noun: 'a date',
  jsonSchema: { type: 'string', format: 'date-time' },
  convertToStored(value) {
    if (typeof value !== 'string' && typeof value !== 'number' && !(value instanceof Date)) {
      return { path: [], message: undefined };
    }
    const date = parseDateToIso(value);
    return date === undefined ? { path: [], message: NOT_A_DATE } : { value: date };
  },
};

/** Points in time; stored to the millisecond, returned as ISO strings. */
export const dateType = {
  kind: 'date',
  field: (): Field<string, 'optional', string | number | Date, string, 'open', 'date' | 'ordered'> =>
    new Field({ type: dateType }),
  column: TIMESTAMP,
  schema: (spec) => {
    const min = spec.min === undefined ? undefined : parseDateToIso(spec.min.value);
    const max = spec.max === undefined ? undefined : parseDateToIso(spec.max.value);
    return (
      z
        // Code may pass a Date; requests cannot.
        .union([z.string(), z.number(), z.instanceof(Date)], { error: NOT_A_DATE })
        .transform((value, context) => {
          const date = parseDateToIso(value);
          if (date === undefined) context.addIssue({ code: 'custom', message: NOT_A_DATE });
          return date ?? z.NEVER;
        })
        .refine((date) => min === undefined || date >= min, {
          error: spec.min?.message ?? `Must be on or after ${formatDateBound(spec.min?.value ?? '')}`,
        })
        .refine((date) => max === undefined || date <= max, {
          error: spec.max?.message ?? `Must be on or before ${formatDateBound(spec.max?.value ?? '')}`,
        })
    );
  },
  jsonSchema: (_spec, _inner, direction) => {
    const iso = { type: 'string', format: 'date-time' };
    const epoch = { type: 'integer', minimum: MIN_TIME, maximum: MAX_TIME, description: 'Epoch milliseconds' };
    // A query also accepts shorter numbers and longer ones, unless they look like a day, a month or a time without dashes.
    const counted = direction === 'query' ? { ...epoch, minimum: 100_000_000, maximum: 9_999_999_999_999 } : epoch;
    return direction === 'output' ? iso : { anyOf: [iso, { type: 'string', format: 'date' }, counted] };
  },
  jsonType: 'string',
  freeText: true,
  bound: (value) => parseDateToIso(value)!,
  operators: ORDER_COMPARISONS,
  comparisons: () => ORDER_COMPARISONS,
  modifiers: ['min', 'max', 'unique', 'index', 'filterable', 'sortable', 'encrypted'],
  aggregations: { group: 'bucket', functions: ['min', 'max', 'countDistinct'] },
  errors: ({ min, max }) =>
    Object.entries({ min, max })
      .filter(([, bound]) => bound !== undefined && parseDateToIso(bound.value) === undefined)
      .map(([name, bound]) => `${name}(${String(bound!.value)}) is not a date`),
  indexMethod: () => 'btree',
  indexedBytes: () => 8,
  comparable: (value) =>
    typeof value === 'string' || typeof value === 'number' || value instanceof Date ? parseDateToIso(value) : undefined,
  fromJson: (value) => parseDateToIso(String(value)),
  fromQuery: parseDateText,
} satisfies FieldType;
