import type { ColumnType } from './column-type.ts';
import type { FieldType } from './field-type.ts';
import { arrayType } from './types/array.ts';
import { booleanType } from './types/boolean.ts';
import { dateType } from './types/date.ts';
import { decimalType } from './types/decimal.ts';
import { emailType } from './types/email.ts';
import { enumType } from './types/enum.ts';
import { idType } from './types/id.ts';
import { integerType } from './types/integer.ts';
import { jsonType } from './types/json.ts';
import { numberType } from './types/number.ts';
import { objectType } from './types/object.ts';
import { passwordType } from './types/password.ts';
import { refType } from './types/ref.ts';
import { stringType } from './types/string.ts';
import { textType } from './types/text.ts';
import { urlType } from './types/url.ts';

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
export function fieldTypeByKind(kind: string): FieldType | undefined {
  return types.get(kind);
}

/** The column type with this Postgres name; undefined if no field type uses such a column. */
export function columnTypeBySqlName(sql: string): ColumnType | undefined {
  for (const { column } of types.values()) if (typeof column !== 'function' && column.sql === sql) return column;
  return undefined;
}
