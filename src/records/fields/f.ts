import type { ResourceName } from '../../declare/naming.ts';
import { ReverseRelation, type ReverseRelationOptions } from '../../declare/relation.ts';
import type { ColumnType } from './column-type.ts';
import type { FieldType } from './field-type.ts';
import { arrayType } from './types/array.ts';
import { booleanType } from './types/boolean.ts';
import { dateType } from './types/date.ts';
import { decimalType } from './types/decimal.ts';
import { emailType } from './types/email.ts';
import { enumType } from './types/enum.ts';
import { fileType } from './types/file.ts';
import { idType } from './types/id.ts';
import { integerType } from './types/integer.ts';
import { jsonType } from './types/json.ts';
import { numberType } from './types/number.ts';
import { objectType } from './types/object.ts';
import { passwordType } from './types/password.ts';
import { refType } from './types/ref.ts';
import { refsType } from './types/refs.ts';
import { stringType } from './types/string.ts';
import { textType } from './types/text.ts';
import { urlType } from './types/url.ts';

/** The only part of a field type that the type declarations of the package contain: the function that creates its fields. */
interface Creates<F> {
  readonly field: F;
}

function define<F>(type: FieldType & Creates<F>): Creates<F> {
  return type;
}

/** Creates reverse relations. */
type CreateReverseRelation = <const N extends string>(
  target: N,
  field: string,
  options?: ReverseRelationOptions,
) => ReverseRelation<ResourceName<N>>;

/** The field types by kind. To add a type, add a line here; `f` is derived from it. */
const TYPES = {
  /** Strings, trimmed unless `trim(false)`. */
  string: define(stringType),
  /** Long strings, not trimmed. */
  text: define(textType),
  /** E-mail addresses, trimmed and lower-cased. */
  email: define(emailType),
  /** `http://` and `https://` URLs, trimmed. */
  url: define(urlType),
  /** 8 to 128 characters; hashed, never returned, cannot be changed by an update. */
  password: define(passwordType),
  /** Finite numbers. */
  number: define(numberType),
  /** Whole numbers within ±(2^53−1). */
  integer: define(integerType),
  /** Exact decimal numbers, as strings: `f.decimal({ precision: 12, scale: 2 })`. */
  decimal: define(decimalType),
  boolean: define(booleanType),
  /** ISO strings or epoch ms, in code also a Date; returned as ISO strings. */
  date: define(dateType),
  /** One of the declared values. */
  enum: define(enumType),
  /** A 24-character hex id that is not a reference. */
  id: define(idType),
  /**
   * Reference to a record of another resource. By default, only the format of the id is checked, not that the record exists:
   * `f.ref('organisation', { onDelete: 'cascade' })` keeps the reference valid.
   */
  ref: define(refType),
  /** References to several existing records of another resource: `f.refs('tag')`. When one is deleted, its id is removed from the list. */
  refs: define(refsType),
  /** Arrays; each item is validated with the inner field. */
  array: define(arrayType),
  /** Objects of the given shape; unknown keys are refused. */
  object: define(objectType),
  /** Files and images, which clients upload: `f.file({ maxBytes, types: ['image/*'] })`. */
  file: define(fileType),
  /** Any JSON; validated and typed with a Standard Schema: `f.json(z.strictObject({ theme: z.string() }))`. */
  json: define(jsonType),
};

const types = new Map(Object.entries(TYPES as object as Record<string, FieldType>));

/**
 * The field types: `f.string()`, `f.ref('user')`, `f.array(f.string())` … Modifiers add rules to a field.
 *
 * @example f.string().required().max(200).searchable()
 */
export const f = {
  ...Object.fromEntries([...types].map(([kind, { field }]) => [kind, field])),
  /**
   * A reverse relation, for the option `relations`: the records of `target` whose reference field `field` refers to the record.
   *
   * @example relations: { comments: f.reverse('comment', 'post', { limit: 5 }) }
   */
  reverse: ((target, field, options) => new ReverseRelation(target, field, options)) as CreateReverseRelation,
} as unknown as {
  readonly [K in keyof typeof TYPES]: (typeof TYPES)[K]['field'];
} & { readonly reverse: CreateReverseRelation };

/** The field type of a kind in a snapshot; undefined if the kind no longer exists, or if a project created it. */
export function fieldTypeByKind(kind: string): FieldType | undefined {
  return types.get(kind);
}

/** The column type with this Postgres name; undefined if no field type uses such a column. */
export function columnTypeBySqlName(sql: string): ColumnType | undefined {
  for (const { column } of types.values()) if (typeof column !== 'function' && column.sql === sql) return column;
  return undefined;
}
