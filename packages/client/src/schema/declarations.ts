// `@belfry/client/declarations`: the types that declarations and clients share. They ask only for members, never for a class or a symbol, because
// the server and a front end may each have a copy of Belfry, of different versions.

/** What is read of a field of a declaration. */
interface DeclaredField {
  readonly $type: unknown;
  /** `required`, `optional` or `defaulted`. */
  readonly $presence: string;
  readonly $input: unknown;
  /** Who may set the field: `open`, `immutable`, `closed`, `owner` or `password`. */
  readonly $access: string;
  readonly $marks: MarkHolder<never>;
}

/** The fields of a declaration by name. */
export type DeclaredFields = Record<string, DeclaredField>;

/** Holds the marks of a field. As a method, it makes a field with more marks assignable to one with fewer: `const name: Field<string>`. */
export interface MarkHolder<M> {
  has(mark: M): void;
}

/** The marks of a field. */
export type MarksOf<X> = X extends { readonly $marks: { has(mark: infer M): void } } ? M : never;

/** An action of a resource that has a route and a policy. */
export type Action = 'list' | 'read' | 'create' | 'update' | 'delete';

/** Comparison operators of list queries. */
export type Operator = 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte' | 'in' | 'nin' | 'all' | 'exists';

/**
 * How a list counts its total. `exact`: all records; `capped`: up to 10,000, then `totalCapped` is true; `none`: not at all. With `capped` and
 * `none`, the cost of a list does not grow with the table.
 */
export type CountMode = 'exact' | 'capped' | 'none';

/** Stands for a record of the resource `N` in the type of a response. */
export interface RecordMark<N extends string> {
  /** Type-level only. */
  readonly $record: N;
}

type NamesWhere<F extends DeclaredFields, Presence> = {
  [K in keyof F]: F[K]['$presence'] extends Presence ? K : never;
}[keyof F];

/** An intersection of objects as one object. */
export type Merged<T> = { [K in keyof T]: T[K] };

/** Values by field, without the fields whose access is `Access`. */
export type WithoutAccess<V, F extends DeclaredFields, Access> = {
  [K in keyof V as K extends keyof F ? (F[K]['$access'] extends Access ? never : K) : K]: V[K];
};

/** The stored values of a set of fields: required and defaulted ones are present, optional ones may be missing. */
export type DataOf<F extends DeclaredFields> = Merged<
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
export type RecordOf<F extends DeclaredFields, T extends boolean = true> = Merged<
  { id: string } & TimesOf<T> & DataOf<F>
>;

/** The input of `create` and of object fields: required fields without a default must be present. */
export type CreateInput<F extends DeclaredFields> = Merged<
  { [K in NamesWhere<F, 'required'>]: F[K]['$input'] } & {
    // Null creates a record without an owner.
    [K in NamesWhere<F, 'optional' | 'defaulted'>]?: F[K]['$access'] extends 'owner'
      ? F[K]['$input'] | null
      : F[K]['$input'];
  }
>;

/** The input of `create` on behalf of a user: without the fields that clients may not set. */
export type CreateBody<F extends DeclaredFields> = WithoutAccess<CreateInput<F>, F, 'closed' | 'owner'>;

/** The input of `update`: null clears an optional field. Passwords have their own routes. */
export type UpdateInput<F extends DeclaredFields> = WithoutAccess<
  { [K in keyof F]?: F[K]['$presence'] extends 'required' ? F[K]['$input'] : F[K]['$input'] | null },
  F,
  'password'
>;

/** The input of `update` on behalf of a user: without the fields that clients may not change. */
export type UpdateBody<F extends DeclaredFields> = WithoutAccess<UpdateInput<F>, F, 'closed' | 'owner' | 'immutable'>;

/** The length of a date bucket. A week is an ISO week: it starts on Monday. */
export type DateUnit = 'hour' | 'day' | 'week' | 'month' | 'quarter' | 'year';

/** A function that computes one value from the values of a field. */
export type AggregateFunction = 'sum' | 'avg' | 'min' | 'max' | 'countDistinct';

/** The key of a term in the `group` of a result: `status`, or `month(createdAt)`. */
type TermKey<Term> = Term extends string
  ? Term
  : { [U in keyof Term & string]: `${U}(${Term[U] & string})` }[keyof Term & string];

type ValueOf<Data, N> = N extends keyof Data ? Exclude<Data[N], undefined> : never;

/** A sum or an average: a text for texts, which are decimal numbers. */
type NumberOf<Data, N> = ValueOf<Data, N> extends number ? number : string;

type GroupOf<Data, Q> = Q extends { group: readonly (infer Term)[] }
  ? { [One in Term as TermKey<One>]: (One extends string ? ValueOf<Data, One> : string) | null }
  : Record<never, never>;

type CountOf<Q> = Q extends { count: true }
  ? { count: number }
  : keyof Q & AggregateFunction extends never
    ? { count: number }
    : unknown;

type FunctionResult<Data, F, N> = F extends 'countDistinct'
  ? number
  : (F extends 'sum' | 'avg' ? NumberOf<Data, N> : ValueOf<Data, N>) | null;

/** The results by function and field: `{ sum: { hours: 12.5 } }`. */
type FunctionResults<Data, Q> = {
  [F in keyof Q & AggregateFunction]: Q[F] extends readonly (infer N extends string)[]
    ? { [K in N]: FunctionResult<Data, F, K> }
    : never;
};

/** One group of a result, with its aggregates. Null: no value; in `group`, records without a value. */
export type AggregateGroup<Data, Q> = { group: GroupOf<Data, Q> } & CountOf<Q> & FunctionResults<Data, Q>;

/** The metadata of aggregates. */
export interface AggregateMeta {
  /** The number of groups that exist. */
  groups: number;
  /** Whether more groups exist than `data` contains. */
  truncated: boolean;
}

/** The result of the query `Q` over records of the type `Data`. */
export interface AggregateResult<Data, Q = unknown> {
  data: AggregateGroup<Data, Q>[];
  meta: AggregateMeta;
}
