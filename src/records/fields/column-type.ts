import { isStorable, UNSTORABLE } from '../../platform/data/postgres/values.ts';
import type { JsonSchema } from './json-schema.ts';

/** The reason why a column cannot hold a value. */
export interface StoredValueRejection {
  /** The path inside the value to the part that the column cannot hold. */
  path: readonly number[];
  /** The message for a client; undefined for a value of the wrong type, which is an error in code. */
  message: string | undefined;
}

/** A value as a column holds it, or the reason why the column cannot hold it. */
export type StoredValueResult = { value: unknown } | StoredValueRejection;

/** The data that a conversion from another Postgres type loses, and the expression for a confirmed conversion. */
export interface LossyCast {
  loss: string;
  example: string;
}

/** A type of Postgres columns: the values that it holds, and the conversions from other types. Field types share column types. */
export interface ColumnType {
  /** The Postgres name of the type. */
  readonly sql: string;
  /** A noun for its values, in messages of migrations: `a whole number`. */
  readonly noun: string;
  /** The JSON Schema that all of its values match. */
  readonly jsonSchema: JsonSchema;
  /** For an array, the type of its items. */
  readonly item?: ColumnType;
  /** Whether its values are numbers for casts to and from booleans and timestamps. */
  readonly number?: true;
  /** Whether a cast to `text` loses nothing. */
  readonly castsToText?: true;
  /** Whether JSON must hold its values as texts, because a JSON number would lose digits. */
  readonly jsonAsText?: true;
  /**
   * Converts a value that code returned (`schema()`) to the form that the column holds.
   *
   * @param maxBytes the maximum bytes of a text, or of a text in an array, that fits into the index of the column
   */
  convertToStored(value: unknown, maxBytes?: number): StoredValueResult;
  /** The casts that, in sequence, convert another Postgres type without loss; undefined if there are none. */
  exactCasts?(from: string): readonly string[] | undefined;
  /** The data that a conversion from another Postgres type loses; undefined if unknown. */
  lossyCast?(column: string, from: string): LossyCast | undefined;
}

/** Creates the conversion of a column that keeps values unchanged: it only checks their type, and whether they fit. */
export function createStoredValueConverter(
  isKind: (value: unknown) => boolean,
  fits: (value: never) => boolean,
  message: string,
) {
  return (value: unknown): StoredValueResult => {
    if (!isKind(value)) return { path: [], message: undefined };
    return fits(value as never) ? { value } : { path: [], message };
  };
}

/** Message for a text that is too long for its index. */
export function tooManyBytesMessage(max: number): string {
  return `Must be at most ${max} bytes`;
}

const convertTextToStored = createStoredValueConverter((value) => typeof value === 'string', isStorable, UNSTORABLE);

/** Texts of any length. */
export const TEXT: ColumnType = {
  sql: 'text',
  noun: 'text',
  jsonSchema: { type: 'string' },
  convertToStored(value, maxBytes = Number.POSITIVE_INFINITY) {
    const held = convertTextToStored(value);
    if (!('value' in held) || Buffer.byteLength(value as string) <= maxBytes) return held;
    return { path: [], message: tooManyBytesMessage(maxBytes) };
  },
};

const arrays = new WeakMap<ColumnType, ColumnType>();

function createArrayColumn(item: ColumnType): ColumnType {
  return {
    sql: `${item.sql}[]`,
    noun: 'a list',
    jsonSchema: { type: 'array', items: item.jsonSchema },
    item,
    ...(item.jsonAsText && { jsonAsText: true }),
    convertToStored(value, maxBytes) {
      if (!Array.isArray(value)) return { path: [], message: undefined };
      const items: unknown[] = [];
      for (const [i, one] of value.entries()) {
        const held = item.convertToStored(one, maxBytes);
        if (!('value' in held)) return { ...held, path: [i, ...held.path] };
        items.push(held.value);
      }
      return { value: items };
    },
    exactCasts(from) {
      if (!from.endsWith('[]')) return undefined;
      return item.exactCasts?.(from.slice(0, -2))?.map((type) => `${type}[]`);
    },
  };
}

/** Arrays of a column type. The same item type returns the same object. */
export function getArrayColumnType(item: ColumnType): ColumnType {
  let found = arrays.get(item);
  if (found === undefined) {
    found = createArrayColumn(item);
    arrays.set(item, found);
  }
  return found;
}
