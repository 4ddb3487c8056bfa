import { z } from 'zod';
import { Field, type FieldSpec } from '../../../declare/field.ts';
import { findUnknownOptions } from '../../../platform/helpers/did-you-mean.ts';
import type { ColumnType, StoredValueResult } from '../column-type.ts';
import { type FieldType, NUMBERS, ORDER_COMPARISONS } from '../field-type.ts';
import type { JsonSchema } from '../json-schema.ts';

/** The precision and scale of a decimal field. */
export interface DecimalOptions {
  /** Total digits, before and after the decimal point: 1 to 1000. Default 38. */
  precision?: number | undefined;
  /**
   * Digits after the decimal point: 0 to the precision. Records hold values with exactly this many digits after the point. Default: at most
   * 18, or the precision if that is less, without trailing zeros.
   */
  scale?: number | undefined;
}

/** The limit of a `numeric` with a declared precision (https://www.postgresql.org/docs/current/datatype-numeric.html). */
const MAX_PRECISION = 1000;
/** Maximum digits before and after the decimal point of values without a declaration (in filters, and from code). */
const MAX_DIGITS = 1000;
/** Far more than any valid number needs, including exponent and redundant zeros. Longer texts are refused unparsed. */
const MAX_CHARACTERS = 4 * MAX_DIGITS;
/** A double holds every decimal number with this many digits, and JavaScript writes it with the same digits. */
const EXACT_JSON_DIGITS = 15;
/** The largest whole number below 2^53 with at most 15 digits before its trailing zeros. Above 2^53, doubles skip whole numbers. */
const MAX_WHOLE_JSON_NUMBER = 9_007_199_254_740_990;

const NOT_A_DECIMAL = 'Must be a decimal number, such as "12.5"';
const INEXACT = `Must be a string: a number in JSON is exact only up to ${EXACT_JSON_DIGITS} digits`;

const DECIMAL = /^(-?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:e([+-]?\d{1,4}))?$/i;

/** The digits of a decimal number: `whole` without leading zeros, `fraction` without trailing zeros. */
interface Digits {
  negative: boolean;
  whole: string;
  fraction: string;
}

function dropLeadingZeros(digits: string): string {
  let start = 0;
  while (digits[start] === '0') start++;
  return digits.slice(start);
}

function dropTrailingZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return digits.slice(0, end);
}

/** Parses a decimal number, also in scientific notation; undefined for anything else, and for a number with too many digits. */
function parseDecimal(text: string): Digits | undefined {
  if (text.length > MAX_CHARACTERS) return undefined;
  const match = DECIMAL.exec(text);
  if (match === null) return undefined;
  const [, sign, before = '', after, alone, exponent = '0'] = match;
  const fractional = after ?? alone ?? '';
  // The digits without the point, and the position of the point.
  const significant = dropLeadingZeros(before + fractional);
  const point = significant.length - fractional.length + Number(exponent);
  const digits = dropTrailingZeros(significant);
  if (digits === '') return { negative: false, whole: '', fraction: '' };
  // A short text can represent a number with very many digits: `1e9999`.
  if (point > MAX_DIGITS || digits.length - point > MAX_DIGITS) return undefined;
  return {
    negative: sign === '-',
    whole: digits.slice(0, Math.max(point, 0)).padEnd(point, '0'),
    fraction: point < 0 ? '0'.repeat(-point) + digits : digits.slice(point),
  };
}

function formatDecimal({ negative, whole, fraction }: Digits): string {
  return `${negative ? '-' : ''}${whole || '0'}${fraction === '' ? '' : `.${fraction}`}`;
}

/** Whether a number from JSON is the number that the client wrote: `JSON.parse` rounds numbers with more digits than a double holds. */
function isExactJsonNumber(value: number): boolean {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return false;
  const digits = parseDecimal(String(value));
  if (digits === undefined) return false;
  const significant = dropLeadingZeros(digits.whole + digits.fraction);
  return dropTrailingZeros(significant).length <= EXACT_JSON_DIGITS;
}

/**
 * A decimal number in its one canonical form: `-12.5`; undefined for any other value, or an inexact number. Numbers from code may be any
 * safe integer: they were not parsed from JSON.
 */
export function toCanonicalDecimal(value: unknown): string | undefined {
  if (typeof value === 'number' && !Number.isSafeInteger(value) && !isExactJsonNumber(value)) return undefined;
  const digits = typeof value === 'string' || typeof value === 'number' ? parseDecimal(String(value)) : undefined;
  return digits && formatDecimal(digits);
}

/** Compares two canonical decimal numbers of any size by their value. */
export function compareDecimals(a: string, b: string): number {
  const [left, right] = [a.startsWith('-'), b.startsWith('-')];
  if (left !== right) return left ? -1 : 1;
  const difference = compareMagnitudes(left ? a.slice(1) : a, right ? b.slice(1) : b);
  return left ? -difference : difference;
}

function compareMagnitudes(a: string, b: string): number {
  const [pointA, pointB] = [a, b].map((text) => (text.includes('.') ? text.indexOf('.') : text.length)) as [
    number,
    number,
  ];
  // Without leading and trailing zeros, numbers with equally many whole digits sort by their characters.
  if (pointA !== pointB) return pointA - pointB;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Exact decimal numbers. Postgres would silently round to a column's scale, so the field's rules limit the digits instead. */
const NUMERIC: ColumnType = {
  sql: 'numeric',
  noun: 'a number',
  jsonSchema: { type: 'string', format: 'decimal' },
  number: true,
  castsToText: true,
  jsonAsText: true,
  convertToStored(value): StoredValueResult {
    const decimal = toCanonicalDecimal(value);
    if (decimal !== undefined) return { value: decimal };
    const isKind = typeof value === 'string' || typeof value === 'number';
    return { path: [], message: isKind ? NOT_A_DECIMAL : undefined };
  },
  exactCasts(from) {
    if (['smallint', 'integer', 'bigint'].includes(from)) return ['numeric'];
    // A cast of a double keeps 15 digits; its text has all of them.
    return from === 'double precision' ? ['text', 'numeric'] : undefined;
  },
};

/** Adds trailing zeros to a canonical decimal number that has fewer digits after the point than its field declares. */
function padDecimal(canonical: string, scale: number): string {
  const point = canonical.indexOf('.');
  const digits = point === -1 ? 0 : canonical.length - point - 1;
  if (digits >= scale) return canonical;
  return `${canonical}${point === -1 ? '.' : ''}${'0'.repeat(scale - digits)}`;
}

/** Converts a value from Postgres: removes the trailing zeros of values that SQL stored. */
function fromPostgresNumeric(value: unknown): unknown {
  const text = String(value);
  return text.endsWith('0') && text.includes('.') ? toCanonicalDecimal(text) : text;
}

function formatCount(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

/** The digits that a decimal number may have before and after the decimal point. */
interface DigitLimits {
  whole: number;
  scale: number;
}

/**
 * The JSON Schema of a decimal number as a string. It accepts every string that the server accepts. Because a pattern cannot check them, it
 * also accepts numbers beyond a bound other than zero, and numbers with too many digits in scientific notation.
 */
function stringJsonSchema({ whole, scale }: DigitLimits, canBeNegative = true, canBePositive = true): JsonSchema {
  const wholePart = whole === 0 ? '0+' : `(0+|0*[1-9]\\d{0,${whole - 1}})`;
  const plain = `${wholePart}(\\.\\d{0,${scale}}0*)?|\\.${scale === 0 ? '0+' : `\\d{1,${scale}}0*`}`;
  const exponent = '[eE][+-]?\\d{1,4}';
  const number = `(${plain}|(\\d+(\\.\\d*)?|\\.\\d+)${exponent})`;
  const zero = `(0+(\\.0*)?|\\.0+)(${exponent})?`;
  const signed =
    canBeNegative && canBePositive ? `-?${number}` : canBePositive ? `(${number}|-${zero})` : `(-${number}|${zero})`;
  return { type: 'string', format: 'decimal', maxLength: MAX_CHARACTERS, pattern: `^${signed}$` };
}

/** The largest JSON number that a field with these limits accepts. */
function maxJsonNumber({ whole, scale }: DigitLimits): number {
  if (whole > EXACT_JSON_DIGITS) return MAX_WHOLE_JSON_NUMBER;
  return Number(`${'9'.repeat(whole)}.${'9'.repeat(Math.min(scale, EXACT_JSON_DIGITS - whole))}`);
}

/**
 * The JSON Schema of decimal numbers as JSON numbers. The number of digits is in words: validators compute `multipleOf` with doubles, so
 * that 0.3 is no multiple of 0.1.
 */
function numberJsonSchema(limits: DigitLimits, { min, max }: FieldSpec): JsonSchema {
  const most = maxJsonNumber(limits);
  const places = limits.scale === 0 ? '' : `, at most ${formatCount(limits.scale, 'decimal place')}`;
  return {
    type: limits.scale === 0 ? 'integer' : 'number',
    minimum: Math.max(Number(min?.value ?? -most), -most),
    maximum: Math.min(Number(max?.value ?? most), most),
    description: `At most ${EXACT_JSON_DIGITS} significant digits${places}. Send other numbers as strings.`,
  };
}

/** The conversions of a field with a declared scale: its values have that many digits after the point, in records and in comparisons. */
function createScaleConversions(scale: number) {
  const pad = (canonical: string | undefined) => (canonical === undefined ? undefined : padDecimal(canonical, scale));
  const fromStored = (value: unknown) => pad(fromPostgresNumeric(value) as string);
  const toPadded = (value: unknown) => pad(toCanonicalDecimal(value));
  return {
    fromColumn: fromStored,
    fromJson: fromStored,
    toColumn: toCanonicalDecimal,
    comparable: toPadded,
    fromQuery: toPadded,
  } satisfies Partial<FieldType>;
}

/** The properties that a field's precision and scale add to the type. */
function createDecimalRules(options: DecimalOptions) {
  const { precision = 38, scale = Math.min(18, precision) } = options;
  const fixedScale = options.scale ?? 0;
  const wholeDigits = precision - scale;
  const limits: DigitLimits = { whole: wholeDigits, scale };
  const pattern = `^-?${wholeDigits === 0 ? '0' : `(0|[1-9]\\d{0,${wholeDigits - 1}})`}${scale === 0 ? '' : fixedScale > 0 ? `\\.\\d{${scale}}` : `(\\.\\d{0,${scale - 1}}[1-9])?`}$`;

  function schema(spec: FieldSpec) {
    const [min, max] = [spec.min, spec.max].map((bound) => bound && toCanonicalDecimal(bound.value));
    return z.union([z.string(), z.number()], { error: NOT_A_DECIMAL }).transform((value, context) => {
      const refuse = (message: string) => {
        context.addIssue({ code: 'custom', message });
        return z.NEVER;
      };
      if (typeof value === 'number' && Number.isFinite(value) && !isExactJsonNumber(value)) return refuse(INEXACT);
      const digits = parseDecimal(String(value));
      if (digits === undefined) return refuse(NOT_A_DECIMAL);
      if (digits.fraction.length > scale) return refuse(`Must have at most ${formatCount(scale, 'decimal place')}`);
      if (digits.whole.length > wholeDigits)
        return refuse(`Must have at most ${formatCount(wholeDigits, 'digit')} before the decimal point`);
      const decimal = formatDecimal(digits);
      if (min !== undefined && compareDecimals(decimal, min) < 0)
        return refuse(spec.min?.message ?? `Must be at least ${min}`);
      if (max !== undefined && compareDecimals(decimal, max) > 0)
        return refuse(spec.max?.message ?? `Must be at most ${max}`);
      return padDecimal(decimal, fixedScale);
    });
  }

  function errors({ min, max, unknownOptions = [] }: FieldSpec): string[] {
    if (unknownOptions.length > 0) return findUnknownOptions(unknownOptions, ['precision', 'scale']);
    const isDigitCount = (value: number, least: number, most: number) =>
      Number.isInteger(value) && value >= least && value <= most;
    if (!isDigitCount(precision, 1, MAX_PRECISION))
      return [`decimal() takes a precision of 1 to ${MAX_PRECISION} digits, not ${precision}`];
    if (!isDigitCount(scale, 0, precision))
      return [`decimal() takes a scale from 0 to its precision, ${precision}, not ${scale}`];
    return Object.entries({ min, max })
      .filter(([, bound]) => bound !== undefined && toCanonicalDecimal(bound.value) === undefined)
      .map(([name, bound]) => `${name}(${String(bound!.value)}) is not an exact decimal number; give it as a string`);
  }

  return {
    ...(fixedScale > 0 && createScaleConversions(fixedScale)),
    schema,
    errors,
    jsonSchema: (spec, _inner, direction) => {
      if (direction === 'output') return { type: 'string', format: 'decimal', pattern };
      if (direction === 'query') return stringJsonSchema({ whole: MAX_DIGITS, scale: MAX_DIGITS });
      const [min, max] = [spec.min, spec.max].map((bound) => bound && toCanonicalDecimal(bound.value));
      const text = stringJsonSchema(
        limits,
        min === undefined || compareDecimals(min, '0') < 0,
        max === undefined || compareDecimals(max, '0') > 0,
      );
      const bounds = [min && `at least ${min}`, max && `at most ${max}`].filter((bound) => bound !== undefined);
      const described = bounds.length === 0 ? text : { ...text, description: `A number of ${bounds.join(' and ')}.` };
      return { anyOf: [described, numberJsonSchema(limits, spec)] };
    },
    // https://www.postgresql.org/docs/current/datatype-numeric.html: two bytes for four digits, and a header.
    indexedBytes: () => 2 * (Math.ceil(wholeDigits / 4) + Math.ceil(scale / 4)) + 8,
  } satisfies Partial<FieldType>;
}

const decimalOfAnySize = {
  kind: 'decimal',
  column: NUMERIC,
  fromColumn: fromPostgresNumeric,
  fromJson: fromPostgresNumeric,
  jsonType: 'string',
  // In the audit trail, even the first digit would reveal much.
  maskedWhole: true,
  operators: ORDER_COMPARISONS,
  comparisons: () => ORDER_COMPARISONS,
  modifiers: ['min', 'max', 'unique', 'index', 'filterable', 'sortable', 'encrypted'],
  aggregations: NUMBERS,
  bound: (value) => toCanonicalDecimal(value)!,
  order: (a, b) => compareDecimals(a as string, b as string),
  indexMethod: () => 'btree',
  comparable: toCanonicalDecimal,
  fromQuery: toCanonicalDecimal,
} satisfies Omit<FieldType, 'schema' | 'jsonSchema'>;

/**
 * Exact decimal numbers, for money, quantities and rates. A body holds a string (`"12.50"`); a JSON number is also accepted if it is exact:
 * at most 15 significant digits, and within ±(2^53−1) if it is whole. Records hold a string in canonical form: no exponent, no leading
 * zeros, no minus before a zero; as many digits after the point as the declared scale, or no trailing zeros without one. Filters, sorting, `min` and `max` compare values as numbers, without rounding. A value with more
 * digits than `precision` and `scale` allow is refused, never rounded.
 */
export const decimalType = {
  ...decimalOfAnySize,
  ...createDecimalRules({}),
  field: ({
    precision,
    scale,
    ...unknown
  }: DecimalOptions = {}): Field<string, 'optional', string | number, string, 'open', 'ordered'> =>
    new Field({
      type: { ...decimalOfAnySize, ...createDecimalRules({ precision, scale }) },
      unknownOptions: Object.keys(unknown),
    }),
} satisfies FieldType;
