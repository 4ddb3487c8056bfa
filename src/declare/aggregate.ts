import type { AggregateFunction, DateUnit } from '@belfry/client/declarations';

export type { AggregateFunction, AggregateMeta, AggregateResult, DateUnit } from '@belfry/client/declarations';

/** The units of date buckets. */
export const DATE_UNITS = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const satisfies readonly DateUnit[];

/** The functions of aggregates that take a field. */
export const AGGREGATE_FUNCTIONS = [
  'sum',
  'avg',
  'min',
  'max',
  'countDistinct',
] as const satisfies readonly AggregateFunction[];

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
