import type { Merged, WithoutAccess } from '@belfry/client/declarations';
import type { AnyField, Fields } from './field.ts';

// Clients infer the same types from the declarations of their app.
export type {
  CreateBody,
  CreateInput,
  DataOf,
  RecordOf,
  UpdateBody,
  UpdateInput,
} from '@belfry/client/declarations';

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
export type CreateValues<F extends Fields> = Merged<
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
