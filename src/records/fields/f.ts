import { arrayType } from './array.ts';
import { booleanType } from './boolean.ts';
import type { ColumnType } from './column-type.ts';
import { dateType } from './date.ts';
import { decimalType } from './decimal.ts';
import { emailType } from './email.ts';
import { enumType } from './enum.ts';
import type { FieldType } from './field-type.ts';
import { idType } from './id.ts';
import { integerType } from './integer.ts';
import { jsonType } from './json.ts';
import { numberType } from './number.ts';
import { objectType } from './object.ts';
import { passwordType } from './password.ts';
import { refType } from './ref.ts';
import { stringType } from './string.ts';
import { textType } from './text.ts';
import { urlType } from './url.ts';

/** The field types by kind. To add a type, add a line here; `f` is derived from it. */
const TYPES = {
  /** Strings, trimmed unless `trim(false)`. */
  string: stringType,
  /** Long strings, not trimmed. */
  text: textType,
  /** E-mail addresses, trimmed and lower-cased. */
  email: emailType,
  /** `http://` and `https://` URLs, trimmed. */
  url: urlType,
  /** 8 to 128 characters; hashed, never returned, cannot be changed by an update. */
  password: passwordType,
  /** Finite numbers. */
  number: numberType,
  /** Whole numbers within ±(2^53−1). */
  integer: integerType,
  /** Exact decimal numbers, as strings: `f.decimal({ precision: 12, scale: 2 })`. */
  decimal: decimalType,
  boolean: booleanType,
  /** ISO strings or epoch ms, in code also a Date; returned as ISO strings. */
  date: dateType,
  /** One of the declared values. */
  enum: enumType,
  /** A 24-character hex id that is not a reference. */
  id: idType,
  /** Reference to a record of another resource. Only the format of the id is checked, not that the record exists. */
  ref: refType,
  /** Arrays; each item is validated with the inner field. */
  array: arrayType,
  /** Objects of the given shape; unknown keys are refused. */
  object: objectType,
  /** Any JSON, not validated. */
  json: jsonType,
} satisfies Record<string, FieldType>;

const types: ReadonlyMap<string, FieldType> = new Map(Object.entries(TYPES));

/** The field types: `f.string()`, `f.ref('user')`, `f.array(f.string())` … */
export const f = Object.fromEntries([...types].map(([kind, { field }]) => [kind, field])) as unknown as {
  readonly [K in keyof typeof TYPES]: (typeof TYPES)[K]['field'];
};

/** The field type of a kind in a snapshot; undefined if the kind no longer exists, or if a project created it. */
export function fieldTypeNamed(kind: string): FieldType | undefined {
  return types.get(kind);
}

/** The column type by its Postgres name; undefined if no field type uses it. */
export function columnTypeNamed(sql: string): ColumnType | undefined {
  for (const { column } of types.values()) if (typeof column !== 'function' && column.sql === sql) return column;
  return undefined;
}
