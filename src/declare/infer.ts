import type { AnyField, Fields, Presence, WriteAccess } from './field.ts';

type NamesWhere<F extends Fields, P extends Presence> = {
  [K in keyof F]: F[K]['$presence'] extends P ? K : never;
}[keyof F];
type Simplify<T> = { [K in keyof T]: T[K] };

/** Values by field, without the fields whose access is `A`. */
type WithoutAccess<V, F extends Fields, A extends WriteAccess> = {
  [K in keyof V as K extends keyof F ? (F[K]['$access'] extends A ? never : K) : K]: V[K];
};

/** The stored values of a set of fields: required and defaulted ones are present, optional ones may be missing. */
export type DataOf<F extends Fields> = Simplify<
  { [K in NamesWhere<F, 'required' | 'defaulted'>]: F[K]['$type'] } & {
    [K in NamesWhere<F, 'optional'>]?: F[K]['$type'];
  }
>;

interface Times {
  createdAt: string;
  updatedAt: string;
}

/** The timestamps of a resource whose option `timestamps` is `T`. */
type TimesOf<T extends boolean> = [T] extends [true] ? Times : [T] extends [false] ? unknown : Partial<Times>;

/** A stored record. `T` is the resource's option `timestamps`. */
export type RecordOf<F extends Fields, T extends boolean = true> = Simplify<{ id: string } & TimesOf<T> & DataOf<F>>;

/** The input of `create` and of object fields: required fields without a default must be present. */
export type CreateInput<F extends Fields> = Simplify<
  { [K in NamesWhere<F, 'required'>]: F[K]['$input'] } & {
    // Null creates a record without an owner.
    [K in NamesWhere<F, 'optional' | 'defaulted'>]?: F[K]['$access'] extends 'owner'
      ? F[K]['$input'] | null
      : F[K]['$input'];
  }
>;

/** The input of `create` on behalf of a user: without the fields that clients may not set. */
export type CreateBody<F extends Fields> = WithoutAccess<CreateInput<F>, F, 'closed' | 'owner'>;

/** The input of `update`: null clears an optional field. Passwords have their own routes. */
export type UpdateInput<F extends Fields> = WithoutAccess<
  { [K in keyof F]?: F[K]['$presence'] extends 'required' ? F[K]['$input'] : F[K]['$input'] | null },
  F,
  'password'
>;

/** The input of `update` on behalf of a user: without the fields that clients may not change. */
export type UpdateBody<F extends Fields> = WithoutAccess<UpdateInput<F>, F, 'closed' | 'owner' | 'immutable'>;

/** A validated value as records hold it; a password as it was sent. */
type Validated<X extends AnyField> = X['$access'] extends 'password' ? string : X['$type'];

/**
 * Fields that have a value on create before `beforeCreate` runs. The hook may fill fields that clients may not set, and code may create a
 * record without an owner.
 */
type NamesSetBeforeHook<F extends Fields> = {
  [K in keyof F]: F[K]['$presence'] extends 'optional'
    ? never
    : F[K]['$access'] extends 'owner'
      ? never
      : [F[K]['$presence'], F[K]['$access']] extends ['required', 'closed']
        ? never
        : K;
}[keyof F];

/** The values passed to `beforeCreate`: validated, with defaults. The hook may change them. */
export type CreateValues<F extends Fields> = Simplify<
  { [K in NamesSetBeforeHook<F>]: Validated<F[K]> } & {
    [K in Exclude<keyof F, NamesSetBeforeHook<F>>]?: Validated<F[K]>;
  }
>;

/** The changes passed to `beforeUpdate`: validated, null for a cleared field. The hook may change them. */
export type UpdateValues<F extends Fields> = WithoutAccess<
  { [K in keyof F]?: F[K]['$presence'] extends 'required' ? Validated<F[K]> : Validated<F[K]> | null },
  F,
  'password'
>;
