import type { Access, AnyField, Fields, Presence } from './field.ts';

type NamesWhere<F extends Fields, P extends Presence> = {
  [K in keyof F]: F[K]['$presence'] extends P ? K : never;
}[keyof F];
type Simplify<T> = { [K in keyof T]: T[K] };

/** Values by field, without those of the fields that are `A`. */
type Without<V, F extends Fields, A extends Access> = {
  [K in keyof V as K extends keyof F ? (F[K]['$access'] extends A ? never : K) : K]: V[K];
};

/** The values of a set of fields, as stored: required and defaulted ones are there, optional ones may be missing. */
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

/** What `create` takes, and what an object field takes: required ones without a default must be there. */
export type CreateInput<F extends Fields> = Simplify<
  { [K in NamesWhere<F, 'required'>]: F[K]['$input'] } & {
    // Null: a record without an owner.
    [K in NamesWhere<F, 'optional' | 'defaulted'>]?: F[K]['$access'] extends 'owner'
      ? F[K]['$input'] | null
      : F[K]['$input'];
  }
>;

/** What `create` takes on behalf of a user: nothing that clients may not set. */
export type CreateBody<F extends Fields> = Without<CreateInput<F>, F, 'closed' | 'owner'>;

/** What `update` takes: null clears an optional field. Passwords have ways of their own. */
export type UpdateInput<F extends Fields> = Without<
  { [K in keyof F]?: F[K]['$presence'] extends 'required' ? F[K]['$input'] : F[K]['$input'] | null },
  F,
  'password'
>;

/** What `update` takes on behalf of a user: nothing that clients may not change. */
export type UpdateBody<F extends Fields> = Without<UpdateInput<F>, F, 'closed' | 'owner' | 'immutable'>;

/** A value that was validated: in the form in which records hold it; a password as it was sent. */
type Settled<X extends AnyField> = X['$access'] extends 'password' ? string : X['$type'];

/** Fields that have a value on create before a hook is asked. It may fill what clients may not, and code may make no owner. */
type Filled<F extends Fields> = {
  [K in keyof F]: F[K]['$presence'] extends 'optional'
    ? never
    : F[K]['$access'] extends 'owner'
      ? never
      : [F[K]['$presence'], F[K]['$access']] extends ['required', 'closed']
        ? never
        : K;
}[keyof F];

/** The values that `beforeCreate` gets: validated, with defaults, and to be changed. */
export type CreateValues<F extends Fields> = Simplify<
  { [K in Filled<F>]: Settled<F[K]> } & { [K in Exclude<keyof F, Filled<F>>]?: Settled<F[K]> }
>;

/** The changes that `beforeUpdate` gets: validated, null where a field is cleared, and to be changed. */
export type UpdateValues<F extends Fields> = Without<
  { [K in keyof F]?: F[K]['$presence'] extends 'required' ? Settled<F[K]> : Settled<F[K]> | null },
  F,
  'password'
>;
