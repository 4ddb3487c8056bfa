/** The units of date buckets. */
export const DATE_UNITS = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const;

/** The length of a date bucket. A week is an ISO week: it starts on Monday. */
export type DateUnit = (typeof DATE_UNITS)[number];

/** The functions of aggregates that take a field. */
export const AGGREGATE_FUNCTIONS = ['sum', 'avg', 'min', 'max', 'countDistinct'] as const;

/** A function that computes one value from the values of a field. */
export type AggregateFunction = (typeof AGGREGATE_FUNCTIONS)[number];

/** The timestamps of a record, which the option `aggregates` opens for aggregates. */
export type Timestamp = 'createdAt' | 'updatedAt';

/** The resource option `aggregates`. */
export interface AggregateOptions {
  /** The timestamps that clients may group into buckets and compute `min` and `max` of. Default none. */
  timestamps?: readonly Timestamp[];
  /**
   * Clients get only groups of at least this many records, and only sums and averages of at least this many values. `min` and `max` are
   * refused, because each reveals the value of a single record. Default 1.
   */
  minGroupSize?: number;
}

type Name<Data> = keyof Data & string;

/** A date field, in buckets: `{ month: 'createdAt' }`. */
type Bucket<Data> = { [U in DateUnit]: { readonly [K in U]: Name<Data> } }[DateUnit];

/** A query of aggregates, over records of the type `Data`. */
export interface AggregateQuery<Data> {
  /** The fields whose values form the groups, at most 3. Dates are grouped in buckets. Left out: all records are one group. */
  group?: readonly (Name<Data> | Bucket<Data>)[];
  /** Counts the records of each group. Left out: true if the query has no other aggregate. */
  count?: true;
  sum?: readonly Name<Data>[];
  avg?: readonly Name<Data>[];
  min?: readonly Name<Data>[];
  max?: readonly Name<Data>[];
  /** Counts the different values of each field. */
  countDistinct?: readonly Name<Data>[];
  /** The filters of a list query: `{ status: 'open', hours: { gte: 1 } }`. */
  where?: object;
  /** The text that the records contain, as in a list query. */
  q?: string | undefined;
  /** With `softDelete`: only the deleted records, or all records. */
  deleted?: 'only' | 'with' | undefined;
  /** The order of the groups: `-count,status` or `sum(hours)`. Default: by the terms of `group`. */
  sort?: string | undefined;
  /** The maximum number of groups: 1 to 1,000. Default 100. */
  limit?: number | undefined;
  /** The IANA time zone of the date buckets. Default `UTC`. */
  timeZone?: string | undefined;
}

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
