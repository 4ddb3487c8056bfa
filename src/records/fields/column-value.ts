import { isStorable, UNSTORABLE } from '../../platform/postgres/storable.ts';
import { NO_DATE, parseDate } from './date.ts';
import { isStorableJson, UNSTORABLE_JSON } from './json.ts';
import { tooManyBytes } from './text-rules.ts';

/** Why a column cannot hold a value. */
export interface Unheld {
  /** The path to what it cannot hold. */
  path: readonly number[];
  /** The message for a client; undefined for what is no value of this kind at all: that is a fault of code. */
  message: string | undefined;
}

type Held = { value: unknown } | Unheld;

/** Holds a value as it is, or does not; `isKind` says whether it is a value of that kind at all. */
function plain(isKind: (value: unknown) => boolean, fits: (value: never) => boolean, message: string) {
  return (value: unknown): Held => {
    if (!isKind(value)) return { path: [], message: undefined };
    return fits(value as never) ? { value } : { path: [], message };
  };
}

const isNumber = (value: unknown) => typeof value === 'number';

/** JSON as Postgres gives it back. */
function asJson(value: unknown): Held {
  const text: string | undefined = JSON.stringify(value);
  if (text === undefined) return { path: [], message: undefined };
  const copy = JSON.parse(text);
  return isStorableJson(copy) ? { value: copy } : { path: [], message: UNSTORABLE_JSON };
}

function asDate(value: unknown): Held {
  if (typeof value !== 'string' && typeof value !== 'number' && !(value instanceof Date)) {
    return { path: [], message: undefined };
  }
  const date = parseDate(value);
  return date === undefined ? { path: [], message: NO_DATE } : { value: date };
}

const HELD: Record<string, (value: unknown) => Held> = {
  text: plain((value) => typeof value === 'string', isStorable, UNSTORABLE),
  boolean: plain(
    (value) => typeof value === 'boolean',
    () => true,
    '',
  ),
  bigint: plain(isNumber, Number.isSafeInteger, 'Must be a whole number'),
  'double precision': plain(isNumber, Number.isFinite, 'Must be a number'),
  'timestamp(3) with time zone': asDate,
  jsonb: asJson,
};

/**
 * What code made of a value, in the form in which a column of this type holds it; or why it does not.
 *
 * @param mostBytes what its index has room for in a text, or in a text of an array
 */
export function columnValue(column: string, value: unknown, mostBytes = Number.POSITIVE_INFINITY): Held {
  if (!column.endsWith('[]')) {
    const held = HELD[column]!(value);
    if (column !== 'text' || !('value' in held) || Buffer.byteLength(value as string) <= mostBytes) return held;
    return { path: [], message: tooManyBytes(mostBytes) };
  }
  if (!Array.isArray(value)) return { path: [], message: undefined };
  const items: unknown[] = [];
  for (const [i, item] of value.entries()) {
    const held = columnValue(column.slice(0, -2), item, mostBytes);
    if (!('value' in held)) return { ...held, path: [i, ...held.path] };
    items.push(held.value);
  }
  return { value: items };
}
