import type { Fields, Presence } from './field.ts';

type NamesWhere<F extends Fields, P extends Presence> = {
  [K in keyof F]: F[K]['$presence'] extends P ? K : never;
}[keyof F];
type Simplify<T> = { [K in keyof T]: T[K] };

/** The values of a set of fields, as stored: required and defaulted ones are there, optional ones may be missing. */
export type DataOf<F extends Fields> = Simplify<
  { [K in NamesWhere<F, 'required' | 'defaulted'>]: F[K]['$type'] } & {
    [K in NamesWhere<F, 'optional'>]?: F[K]['$type'];
  }
>;

/** A stored record. */
export type RecordOf<F extends Fields> = Simplify<{ id: string; createdAt: string; updatedAt: string } & DataOf<F>>;

/** What `create` takes, and what an object field takes: required ones without a default must be there. */
export type CreateInput<F extends Fields> = Simplify<
  { [K in NamesWhere<F, 'required'>]: F[K]['$input'] } & {
    [K in NamesWhere<F, 'optional' | 'defaulted'>]?: F[K]['$input'];
  }
>;

/** What `update` takes: null clears an optional field. */
export type UpdateInput<F extends Fields> = {
  [K in keyof F]?: F[K]['$presence'] extends 'required' ? F[K]['$input'] : F[K]['$input'] | null;
};
