import type { Field, Fields, Presence } from './field.ts';

type TypeOf<X> = X extends Field<infer T, Presence> ? T : never;
type NamesWhere<F extends Fields, P extends Presence> = {
  [K in keyof F]: F[K] extends Field<unknown, infer Q> ? (Q extends P ? K : never) : never;
}[keyof F];
type Simplify<T> = { [K in keyof T]: T[K] };

/** The values of a set of fields, as stored: required and defaulted ones are there, optional ones may be missing. */
export type DataOf<F extends Fields> = Simplify<
  { [K in NamesWhere<F, 'required' | 'defaulted'>]: TypeOf<F[K]> } & { [K in NamesWhere<F, 'optional'>]?: TypeOf<F[K]> }
>;

/** A stored record. */
export type RecordOf<F extends Fields> = Simplify<{ id: string; createdAt: string; updatedAt: string } & DataOf<F>>;

/** What `create` takes. */
export type CreateInput<F extends Fields> = Simplify<
  { [K in NamesWhere<F, 'required'>]: TypeOf<F[K]> } & { [K in NamesWhere<F, 'optional' | 'defaulted'>]?: TypeOf<F[K]> }
>;

/** What `update` takes: null clears an optional field. */
export type UpdateInput<F extends Fields> = {
  [K in keyof F]?: F[K] extends Field<infer T, infer P> ? (P extends 'required' ? T : T | null) : never;
};
