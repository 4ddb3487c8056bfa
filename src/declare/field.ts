import type { MarkHolder } from '@belfry/client/declarations';
import type { StandardSchema } from '../platform/helpers/standard-schema.ts';
import type { Deprecation } from './deprecation.ts';
import type { FileOptions } from './file.ts';
import type { Policy, Viewer } from './policy.ts';
import type { OnDelete } from './relation.ts';
import type { Operator, Services } from './service.ts';

/** The type of a declared field. `FieldType` (src/records/fields/field-type.ts) defines its behaviour. */
export interface DeclaredType {
  /** The name of the type: `string`, `date`, … */
  readonly kind: string;
}

type CheckResult = true | string | false;

/**
 * A custom rule: returns true or the error message. `value` is the value to check; `record` is the whole record as it would be after the
 * change.
 */
export type Check<T> = (value: T, record: Record<string, unknown>) => CheckResult | Promise<CheckResult>;

interface Bound {
  value: number | string | Date;
  message?: string | undefined;
}

/** The caller of a write, for the choice of the organisation. */
export interface TenantCaller {
  user: Viewer | undefined;
  /** The privilege of the write. */
  as: 'system' | 'user';
  service: Services;
}

/** The full declaration of a field. Created by the factories of `f` and the modifiers of `Field`. */
export interface FieldSpec {
  type: DeclaredType;
  values?: readonly string[];
  target?: string;
  /** Left out: `keep`. */
  onDelete?: OnDelete;
  /** Whether writes check that the referenced records exist. */
  exists?: boolean;
  /** The names of options that the type does not have, which plain JavaScript can pass: a configuration error. */
  unknownOptions?: readonly string[];
  inner?: AnyField;
  shape?: Record<string, AnyField>;
  /** The schema of a json field's values, whose output must be JSON. Runs before `checks`. */
  content?: StandardSchema;
  file?: FileOptions;
  required?: boolean;
  requiredMessage?: string | undefined;
  default?: unknown;
  min?: Bound;
  max?: Bound;
  pattern?: { regex: RegExp; message?: string | undefined };
  trim?: boolean;
  lowercase?: boolean;
  uppercase?: boolean;
  /** Whether texts are stored in NFC. Left out: only if they are unique. */
  normalize?: boolean;
  unique?: boolean;
  index?: boolean;
  checks?: readonly { check: Check<never>; message?: string | undefined }[];
  standard?: StandardSchema;
  /** The name of the field for people. Left out: its name as words. */
  label?: string;
  description?: string;
  example?: unknown;
  encrypted?: boolean;
  pii?: boolean;
  hidden?: boolean;
  writeOnly?: boolean;
  readOnly?: boolean;
  immutable?: boolean;
  writableBy?: Policy;
  visibleTo?: Policy;
  filterable?: true | readonly Operator[];
  sortable?: boolean;
  searchable?: boolean;
  aggregatable?: boolean;
  owner?: boolean;
  populate?: boolean;
  /** The field holds the organisation that the record belongs to. */
  tenant?: boolean;
  /**
   * Returns the organisation that a new record of the caller belongs to, for a field that holds it.
   *
   * @param given the valid organisation in the input, if any
   * @throws ApiError as a create would, if there is no such organisation or the caller must name one
   */
  chooseTenant?: (given: unknown, caller: TenantCaller) => Promise<string>;
  renamedFrom?: readonly string[];
  deprecated?: Deprecation;
}

/** Whether a field's value must be present on create and is always present in responses. Only the inferred types use it. */
export type Presence = 'optional' | 'required' | 'defaulted';

/**
 * Who may set a field, where types can express it:
 *
 * - `open`: clients.
 * - `immutable`: clients, until it is set.
 * - `closed`: no client.
 * - `owner`: no client; it is set from the signed-in user.
 * - `password`: set only on create, and never returned.
 *
 * Only the inferred types use it.
 */
export type WriteAccess = 'open' | 'immutable' | 'closed' | 'owner' | 'password';

/**
 * A fact about a field that the types of clients need:
 *
 * - `filterable:<operator>`: an operator that `filterable()` names.
 * - `concealed`: never returned. `restricted`: returned only to some viewers.
 * - `to:<resource>`: the resource that a reference refers to.
 * - The operators that `filterable()` allows by default: `ordered` (also comparisons), `list` (the operators of lists), `opaque`
 *   (`exists`), `unfiltered` (none).
 */
export type FieldMark =
  | 'filterable'
  | `filterable:${Operator}`
  | 'sortable'
  | 'searchable'
  | 'aggregatable'
  | 'unique'
  | 'populated'
  | 'concealed'
  | 'restricted'
  | 'file'
  | 'date'
  | `to:${string}`
  | 'ordered'
  | 'list'
  | 'opaque'
  | 'unfiltered';

type Closed<W extends WriteAccess> = W extends 'owner' | 'password' ? W : 'closed';
type Immutable<W extends WriteAccess> = W extends 'open' ? 'immutable' : W;

// biome-ignore lint/suspicious/noExplicitAny: stands for a field of any type
export type AnyField = Field<any, Presence, any, any, WriteAccess, any>;

/** The fields of a resource or of an object field, by name. */
export type Fields = Record<string, AnyField>;

// biome-ignore lint/suspicious/noExplicitAny: the types of a change are those that its modifier states
type ChangedField = Field<any, any, any, any, any, any>;

/** Returns a copy of a field with another declaration. Not a private method: one would make the fields of two copies of Belfry different types. */
function changed(field: { readonly spec: FieldSpec }, change: Partial<FieldSpec>): ChangedField {
  return new Field({ ...field.spec, ...change });
}

/**
 * A typed field of a declaration. Every modifier returns a new field and leaves the original unchanged.
 *
 * `T` is the type in records, `P` whether the value is present, `I` the input type of create and update, and `C` the argument type of a
 * `check`: the value after the built-in rules and after the custom rules of nested fields, before the field's own `schema`. `W` is who may
 * set the field, `M` the facts about the field that the types of clients need.
 */
export class Field<
  T,
  P extends Presence = 'optional',
  I = T,
  C = T,
  W extends WriteAccess = 'open',
  M extends FieldMark = never,
> {
  /** Type-level only. */
  declare readonly $type: T;
  /** Type-level only. */
  declare readonly $presence: P;
  /** Type-level only. */
  declare readonly $input: I;
  /** Type-level only. */
  declare readonly $access: W;
  /** Type-level only. */
  declare readonly $marks: MarkHolder<M>;
  readonly spec: FieldSpec;

  constructor(spec: FieldSpec) {
    this.spec = spec;
  }

  /** The field must be present on create unless it has a default; empty strings and null are refused. */
  required(message?: string): Field<T, P extends 'defaulted' ? 'defaulted' : 'required', I, C, W, M> {
    return changed(this, { required: true, requiredMessage: message });
  }
  /** Undoes `required`. */
  optional(): Field<T, P extends 'defaulted' ? 'defaulted' : 'optional', I, C, W, M> {
    return changed(this, { required: false });
  }
  /** The value if a create leaves the field out. A function is called per record; objects are cloned per record. */
  default(value: I | (() => I)): Field<T, 'defaulted', I, C, W, M> {
    return changed(this, { default: value });
  }
  /** Minimum string length, number, date (ISO, Date or epoch ms) or item count. */
  min(value: number | string | Date, message?: string): Field<T, P, I, C, W, M> {
    return changed(this, { min: { value, message } });
  }
  /** Maximum string length, number, date (ISO, Date or epoch ms) or item count. */
  max(value: number | string | Date, message?: string): Field<T, P, I, C, W, M> {
    return changed(this, { max: { value, message } });
  }
  /** The pattern that strings must match. */
  pattern(regex: RegExp, message?: string): Field<T, P, I, C, W, M> {
    return changed(this, { pattern: { regex, message } });
  }
  /** Whether leading and trailing white space is removed before validation. */
  trim(on = true): Field<T, P, I, C, W, M> {
    return changed(this, { trim: on });
  }
  /**
   * Whether texts are stored in NFC. Composed and decomposed letters (`é` and `e` with an accent) are then the same text.
   * `normalize(false)` keeps and compares the characters exactly.
   */
  normalize(on = true): Field<T, P, I, C, W, M> {
    return changed(this, { normalize: on });
  }
  /** Converts to lower case before validation. */
  lowercase(): Field<T, P, I, C, W, M> {
    return changed(this, { lowercase: true });
  }
  /** Converts to upper case before validation. */
  uppercase(): Field<T, P, I, C, W, M> {
    return changed(this, { uppercase: true });
  }
  /** Adds a unique index; a duplicate fails with 409. */
  unique(): Field<T, P, I, C, W, M | 'unique'> {
    return changed(this, { unique: true });
  }
  /** Adds a non-unique index. */
  index(): Field<T, P, I, C, W, M> {
    return changed(this, { index: true });
  }
  /** Custom rule: returns true or the error message. `message` replaces that message, and is used if the rule returns false. */
  check(check: Check<C>, message?: string): Field<T, P, I, C, W, M> {
    return changed(this, { checks: [...(this.spec.checks ?? []), { check: check as Check<never>, message }] });
  }
  /** Extra validation by a Standard Schema library. Runs after the built-in rules; its output replaces the value. */
  schema<Output, Input>(standard: StandardSchema<Output, Input>): Field<Output, P, I & Input, C, W, M> {
    return new Field<Output, P, I & Input, C, W, M>({ ...this.spec, standard });
  }
  /**
   * The name of the field for people, in the console. Default: its name as words, so
   * that `startsAt` is shown as "Starts at".
   *
   * @example f.date().label('Kick-off')
   */
  label(text: string): Field<T, P, I, C, W, M> {
    return changed(this, { label: text });
  }
  /** Description in the OpenAPI document. */
  describe(text: string): Field<T, P, I, C, W, M> {
    return changed(this, { description: text });
  }
  /** Example in the OpenAPI document. */
  example(value: I): Field<T, P, I, C, W, M> {
    return changed(this, { example: value });
  }
  /** Stored as AES-256-GCM ciphertext, decrypted on read. */
  encrypted(): Field<T, P, I, C, W, M> {
    return changed(this, { encrypted: true });
  }
  /** Marks personal data. */
  pii(): Field<T, P, I, C, W, M> {
    return changed(this, { pii: true });
  }
  /** Never returned, never accepted. */
  hidden(): Field<T, P, I, C, Closed<W>, M | 'concealed'> {
    return changed(this, { hidden: true });
  }
  /** Never returned. */
  writeOnly(): Field<T, P, I, C, W, M | 'concealed'> {
    return changed(this, { writeOnly: true });
  }
  /** Returned, never accepted. */
  readOnly(): Field<T, P, I, C, Closed<W>, M> {
    return changed(this, { readOnly: true });
  }
  /** Accepted on create only. */
  immutable(): Field<T, P, I, C, Immutable<W>, M> {
    return changed(this, { immutable: true });
  }
  /** Accepted only from users who match the policy, for that record. */
  writableBy(policy: Policy): Field<T, P, I, C, W, M> {
    return changed(this, { writableBy: policy });
  }
  /** Returned only to users who match the policy, for that record. */
  visibleTo(policy: Policy): Field<T, P, I, C, W, M | 'restricted'> {
    return changed(this, { visibleTo: policy });
  }
  /** Lets clients filter with `?field=value` and `?field[op]=value`. Default operators: the field type's. */
  filterable<const O extends Operator = never>(
    operators?: readonly O[],
  ): Field<T, P, I, C, W, M | ([O] extends [never] ? 'filterable' : `filterable:${O}`)> {
    return changed(this, { filterable: operators ?? true });
  }
  /** Lets clients sort; adds an index. */
  sortable(): Field<T, P, I, C, W, M | 'sortable'> {
    return changed(this, { sortable: true });
  }
  /** Lets the search `?q=` find texts in this field, by case-insensitive substring. */
  searchable(): Field<T, P, I, C, W, M | 'searchable'> {
    return changed(this, { searchable: true });
  }
  /**
   * Lets clients group by the field, and compute aggregates of it, at `GET <path>/aggregate`.
   *
   * @example f.number().aggregatable()
   */
  aggregatable(): Field<T, P, I, C, W, M | 'aggregatable'> {
    return changed(this, { aggregatable: true });
  }
  /** The record's owner: set to the signed-in user on create, read-only, indexed. One per resource. */
  owner(): Field<T, 'defaulted', I, C, 'owner', M> {
    return changed(this, { owner: true });
  }
  /** Expands the reference on every read, as if `?include=<field>` were sent. */
  populate(): Field<T, P, I, C, W, M | 'populated'> {
    return changed(this, { populate: true });
  }
  /** Former names of the field, latest first: migrations rename its column, and stored events and deliveries stay readable. */
  renamedFrom(...names: readonly string[]): Field<T, P, I, C, W, M> {
    return changed(this, { renamedFrom: names });
  }
  /**
   * Announces to clients that use the field that they should stop. The field works as before.
   *
   * @example f.string().deprecated({ since: '2026-11-01', sunset: '2027-06-01', use: 'headline' })
   */
  deprecated(deprecation: Deprecation): Field<T, P, I, C, W, M> {
    return changed(this, { deprecated: deprecation });
  }
}
