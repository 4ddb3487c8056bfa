import { isStorable, UNSTORABLE } from '../../platform/postgres/storable.ts';
import type { JsonSchema } from './json-schema.ts';

/** Why a column cannot hold a value. */
export interface Rejected {
  /** The path inside the value to the part that the column cannot hold. */
  path: readonly number[];
  /** The message for a client; undefined for a value of another kind altogether, which is an error in code. */
  message: string | undefined;
}

/** A value in the form in which a column holds it, or why the column cannot hold it. */
export type Held = { value: unknown } | Rejected;

/** What a conversion from another Postgres type loses, and the expression that a person may choose nevertheless. */
export interface LossyCast {
  loss: string;
  example: string;
}

/** A type of Postgres columns: what it can hold, and how other columns become one. Field types share them. */
export interface ColumnType {
  /** Its name in Postgres. */
  readonly sql: string;
  /** A value of it, in messages of migrations: `a whole number`. */
  readonly noun: string;
  /** The JSON Schema of any value that it can hold. */
  readonly jsonSchema: JsonSchema;
  /** Of an array: the type of its items. */
  readonly item?: ColumnType;
  /** Whether its values are numbers, as far as casts to and from booleans and timestamps go. */
  readonly number?: true;
  /** Whether a cast to `text` loses nothing. */
  readonly castsToText?: true;
  /** Whether JSON must hold its values as texts: a JSON number would lose digits. */
  readonly jsonAsText?: true;
  /**
   * Brings a value that code made (`schema()`) into the form in which the column holds it.
   *
   * @param maxBytes how many bytes its index has room for in a text, or in a text of an array
   */
  hold(value: unknown, maxBytes?: number): Held;
  /** The casts, one after the other, that convert another Postgres type without losing anything; undefined when there are none. */
  exactCasts?(from: string): readonly string[] | undefined;
  /** What a conversion from another Postgres type loses; undefined where nothing particular is known. */
  lossyCast?(column: string, from: string): LossyCast | undefined;
}

/** The `hold` of a column that keeps values as they are. */
export function holdIf(isKind: (value: unknown) => boolean, fits: (value: never) => boolean, message: string) {
  return (value: unknown): Held => {
    if (!isKind(value)) return { path: [], message: undefined };
    return fits(value as never) ? { value } : { path: [], message };
  };
}

/** Message for a text that is too long for its index. */
export function tooManyBytes(max: number): string {
  return `Must be at most ${max} bytes`;
}

const holdText = holdIf((value) => typeof value === 'string', isStorable, UNSTORABLE);

/** Texts of any length. */
export const TEXT: ColumnType = {
  sql: 'text',
  noun: 'text',
  jsonSchema: { type: 'string' },
  hold(value, maxBytes = Number.POSITIVE_INFINITY) {
    const held = holdText(value);
    if (!('value' in held) || Buffer.byteLength(value as string) <= maxBytes) return held;
    return { path: [], message: tooManyBytes(maxBytes) };
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
    hold(value, maxBytes) {
      if (!Array.isArray(value)) return { path: [], message: undefined };
      const items: unknown[] = [];
      for (const [i, one] of value.entries()) {
        const held = item.hold(one, maxBytes);
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

/** Arrays of a column type. Equal items give the same object. */
export function arrayColumn(item: ColumnType): ColumnType {
  let found = arrays.get(item);
  if (found === undefined) {
    found = createArrayColumn(item);
    arrays.set(item, found);
  }
  return found;
}
