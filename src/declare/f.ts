import { type Access, Field, type Fields, type Presence } from './field.ts';
import type { CreateInput, DataOf } from './infer.ts';
import { resourceName } from './naming.ts';

/** The field types: `f.string()`, `f.ref('user')`, `f.array(f.string())` … */
export const f = {
  /** Strings, trimmed unless `trim(false)`. */
  string: () => new Field<string>({ kind: 'string', trim: true }),
  /** Long strings, not trimmed. */
  text: () => new Field<string>({ kind: 'text' }),
  /** E-mail addresses, trimmed and lower-cased. */
  email: () => new Field<string>({ kind: 'email', trim: true, lowercase: true }),
  /** `http://` and `https://` URLs, trimmed. */
  url: () => new Field<string>({ kind: 'url', trim: true }),
  /** 8 to 128 characters; hashed, never returned, not changed by an update. */
  password: () => new Field<undefined, 'optional', string, string, 'password'>({ kind: 'password' }),
  /** Finite numbers. */
  number: () => new Field<number>({ kind: 'number' }),
  /** Whole numbers within ±(2^53−1). */
  integer: () => new Field<number>({ kind: 'integer' }),
  boolean: () => new Field<boolean>({ kind: 'boolean' }),
  /** ISO strings or epoch ms, of code a Date too; returned as ISO strings. */
  date: () => new Field<string, 'optional', string | number | Date>({ kind: 'date' }),
  /** One of the declared values. */
  enum: <const V extends readonly [string, ...string[]]>(values: V) => new Field<V[number]>({ kind: 'enum', values }),
  /** A 24-character hex id that is not a reference. */
  id: () => new Field<string>({ kind: 'id' }),
  /** Reference to a record of another resource; only its form is checked, not that the record exists. */
  ref: (target: string) => new Field<string>({ kind: 'ref', target: resourceName(target) }),
  /** Arrays; each item is validated with the inner field. */
  array: <T, I, C>(inner: Field<T, Presence, I, C, Access>) =>
    new Field<T[], 'optional', I[]>({ kind: 'array', inner }),
  /** Objects of the given shape; unknown keys are refused. */
  object: <F extends Fields>(shape: F) => new Field<DataOf<F>, 'optional', CreateInput<F>>({ kind: 'object', shape }),
  /** Any JSON, not validated. */
  json: () => new Field<unknown>({ kind: 'json' }),
};
