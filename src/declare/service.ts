import type { CountMode, Operator } from '@belfry/client/declarations';
import type { Request } from 'express';
import type { Executor, Queryable } from '../platform/data/postgres/queryable.ts';
import type { Viewer } from './actor.ts';
import type { AggregateQuery, AggregateResult } from './aggregate.ts';
import type { Senders } from './senders.ts';

/** The privilege of a service call, and the user and the request that events and audit record for it. */
export interface ActAs {
  /**
   * `system`: everything is validated, no policy applies, and hidden and read-only fields may be set. `user`: policies, scope filter and
   * field rules apply as in a request of the user. Default: `user` if `user` is given, else `system`.
   */
  as?: 'system' | 'user' | undefined;
  /**
   * Default: the caller of the current request. An explicit undefined (`{ user: ctx.user }` without a signed-in user) means a caller that
   * is not signed in.
   */
  user?: Viewer | undefined;
  /**
   * The request of that user: policy functions and scope filters receive the request, and events carry its id. Default: the current
   * request.
   */
  req?: Request | undefined;
}

/** The options of a service call with system privilege. */
type AsSystem = ActAs & ({ as: 'system' } | { as?: 'system' | undefined; user?: never });

/** The options of a service call that lists records. */
export interface ActAsForList extends ActAs {
  /** Maximum bytes of the records as JSON. A page that would be larger has fewer records, and `meta.truncated`. Default: no limit. */
  maxBytes?: number | undefined;
}

/** The options of a service call that changes a record: its caller, and a condition on the record. */
export interface ActAsWithIfMatch extends ActAs {
  /** Change the record only if its `updatedAt` still has this value; otherwise PRECONDITION_FAILED. */
  ifMatch?: string | undefined;
  /** Change the record only if it has one of these versions, as `versionOf` of its gateway returns them. */
  versions?: '*' | readonly string[] | undefined;
  /**
   * For a deletion: the ids of records, by resource, that the caller deletes in the same transaction. Their references do not restrict the
   * deletion. For records that refer to each other in a circle.
   */
  deletedWith?: ReadonlyMap<string, ReadonlySet<string>> | undefined;
}

export type { CountMode, Operator };

/** The parameters of a list query that are not filters. */
interface ListParameters {
  page?: number | string | undefined;
  limit?: number | string | undefined;
  sort?: string | undefined;
  after?: string | undefined;
  q?: string | undefined;
  fields?: string | undefined;
  include?: string | undefined;
  /** With `softDelete`: only the deleted records, or all records. */
  deleted?: 'only' | 'with' | undefined;
}

type ComparedValue = string | number | boolean | Date | null;

/**
 * The values of one field in the records that a query selects, for `{ in: … }` in filters, scopes and policies. The database evaluates it as part
 * of the list or check, so no values are loaded. Returned by `service.query`.
 */
export interface RecordQuery {
  /** Type-level only. */
  readonly $query?: true;
}

/** The value that a field is compared with: a value, a list of alternatives, null for no value, or operators: `{ gte: 3, lt: 5 }`. */
type FilterInput<V> = V extends undefined
  ? never
  : V extends ComparedValue | readonly ComparedValue[]
    ? V
    : { [K in keyof V]: K extends Operator ? ComparedValue | readonly ComparedValue[] | RecordQuery : never };

/**
 * A list query: `{ status: 'draft', points: { gte: 3 }, sort: '-createdAt', limit: 10 }`. `{ 'points[gte]': 3 }` is equivalent, as in a
 * query string. A filter that is undefined is refused: leaving it out would return the records of all users.
 */
type ListInput<Q> = {
  [K in keyof Q]: K extends keyof ListParameters ? ListParameters[K] : K extends 'count' ? Q[K] : FilterInput<Q[K]>;
};

/** Only the filters of a list query. */
type FilterOnly<Q> = { [K in keyof ListInput<Q>]: K extends keyof ListParameters ? never : ListInput<Q>[K] };
/** The filters of an aggregate query, in its `where`, and no unknown parameters. */
type AggregateInput<Data, Q> = {
  [K in keyof Q]: K extends 'where'
    ? { [F in keyof Q[K]]: FilterInput<Q[K][F]> }
    : K extends keyof AggregateQuery<Data>
      ? Q[K]
      : never;
};

/** A list query without paging parameters: `each` reads the whole list. */
type WholeListInput<Q> = { [K in keyof ListInput<Q>]: K extends 'page' | 'limit' | 'after' ? never : ListInput<Q>[K] };

/** The filters of a list query. */
type FiltersInput<Q> = { [K in keyof Q]: FilterInput<Q[K]> };

/** The metadata of a numbered page. */
export interface PageMeta {
  total: number;
  /** Whether more than `total` records may match, because counting stopped; only with `count: 'capped'`. */
  totalCapped?: true;
  page: number;
  limit: number;
  pages: number;
  /** The cursor of the next page; absent on the last page. */
  next?: string;
  /** Whether the page holds fewer records than `limit` because more would be too large: in responses to clients, and with `maxBytes`. */
  truncated?: true;
}

/** The metadata of a page after a cursor, and of a page without the total. */
export interface CursorMeta {
  limit: number;
  /** The `after` value for the next page; null on the last page. */
  next: string | null;
  /** Whether the page holds fewer records than `limit` because more would be too large: in responses to clients, and with `maxBytes`. */
  truncated?: true;
}

/** The metadata of a list: `after` and `count: 'none'` leave out the total. */
type MetaOf<Q> = Q extends { after: string } | { count: 'none' } ? CursorMeta : PageMeta;

/** A page of records, as requested by the query `Q`. */
export interface Page<R, Q = unknown> {
  data: R[];
  meta: MetaOf<Q>;
}

/**
 * The methods of a service, by its input types for create and update and by its record type. `Body` and `Changed` are the input types on
 * behalf of a user. `Aggregated` is the record type in aggregates; `any` if the fields are not known.
 */
export interface RecordService<Input, Changes, Data, Body = Input, Changed = Changes, Aggregated = Data> {
  /** Validates and stores a record, emits `<resource>.created`. */
  create(input: Input, as?: AsSystem): Promise<Data>;
  create(input: Body, as: ActAs | undefined): Promise<Data>;
  /** @throws ApiError NOT_FOUND if the record does not exist or is out of reach */
  read(id: string, as?: ActAs): Promise<Data>;
  /**
   * Returns one page of records. `limit` may be up to 1,000. With system privilege, the query may filter and sort by any stored field.
   */
  list<const Q extends object>(query?: Q & ListInput<Q>, as?: ActAsForList): Promise<Page<Data, Q>>;
  /**
   * Iterates over every record of a list, by id unless `sort` sets another order. It reads a hundred at a time: a list of any length needs
   * little memory. Policy and scope are evaluated once, at the beginning.
   *
   * @example for await (const ticket of service('ticket').each({ state: 'open' })) { … }
   */
  each<const Q extends object>(query?: Q & WholeListInput<Q>, as?: ActAs): AsyncIterable<Data>;
  /** The first record of a list; undefined if the list is empty. */
  first<const Q extends object>(query?: Q & ListInput<Q>, as?: ActAs): Promise<Data | undefined>;
  /**
   * Selects the values of a field, by default the ids, in all records that meet the filters. Nothing is read until the query is used.
   *
   * @example scope: ({ user, service }) => ({ team: { in: service('membership').query({ user: user?.id ?? null }, 'team') } })
   * @throws ApiError BAD_REQUEST for an unknown filter; Error for a field whose values cannot be compared
   */
  query<const Q extends object>(where?: Q & FiltersInput<Q>, field?: string & keyof Data): RecordQuery;
  /** The total number of records in a list. */
  count<const Q extends object>(query?: Q & ListInput<Q>, as?: ActAs): Promise<number>;
  /**
   * Counts, sums and other aggregates of the records of a list, by group. With system privilege, every stored field with comparable values
   * can be used; on behalf of a user, those that clients may use.
   *
   * @example await service('ticket').aggregate({ group: ['status', { month: 'createdAt' }], count: true, sum: ['hours'] })
   */
  aggregate<const Q extends AggregateQuery<Aggregated>>(
    query: Q & AggregateInput<Aggregated, Q>,
    as?: ActAs,
  ): Promise<AggregateResult<Aggregated, Q>>;
  /**
   * Locks a record until the end of the transaction, and returns its current state. Other changes of the record and other calls of `lock` wait. Call it
   * on the service of a `before` hook or of a transaction; elsewhere it throws, because there is no transaction that could hold the lock.
   *
   * @throws ApiError NOT_FOUND if the record does not exist or is out of reach
   * @example beforeCreate: async (values, { service }) => { await service(room).lock(values.room); … }
   */
  lock(id: string, as?: ActAs): Promise<Data>;
  /** Changes the given fields, emits `<resource>.updated`. If they already have these values, nothing is stored and nothing emitted. */
  update(id: string, input: Changes, as?: AsSystem & ActAsWithIfMatch): Promise<Data>;
  update(id: string, input: Changed, as: ActAsWithIfMatch | undefined): Promise<Data>;
  /** Deletes a record, emits `<resource>.deleted`. Returns the record as it was before. */
  delete(id: string, as?: ActAsWithIfMatch): Promise<Data>;
  /**
   * Creates records, all or none, with the rules of `create` for each. A few statements for all of them.
   *
   * @throws ApiError with details by the index of the input: `3.title`
   * @example await service('ticket').createMany([{ title: 'One' }, { title: 'Two' }])
   */
  createMany(inputs: readonly Input[], as?: AsSystem): Promise<Data[]>;
  createMany(inputs: readonly Body[], as: ActAs | undefined): Promise<Data[]>;
  /**
   * Updates the record that has the same value of a unique field, or creates one. Concurrent calls with one value make one record.
   *
   * @param by a field declared with `unique()` that the caller can see; the input must have a value for it
   * @throws ApiError CONFLICT if a record that the caller cannot read has the value
   * @example await service('product').upsert('sku', { sku: 'A1', price: 5 })
   */
  upsert(by: keyof Input & string, input: Input, as?: AsSystem): Promise<Data>;
  upsert(by: keyof Body & string, input: Body, as: ActAs | undefined): Promise<Data>;
  /**
   * Changes every record that matches a filter, with the rules of `update` for each, 500 at a time. Outside of a transaction, each step is
   * committed separately; after an error, the records of earlier steps stay changed.
   *
   * @param where filters as in a list; `{}` for all records
   * @returns the number of matching records, including those that already have the values
   * @throws ApiError of the first record that cannot be changed, for example FORBIDDEN; TypeError for a filter that is undefined
   * @example await service('ticket').updateMany({ state: 'open' }, { state: 'closed' })
   */
  updateMany<const Q extends object>(where: Q & FilterOnly<Q>, values: Changes, as?: AsSystem): Promise<number>;
  updateMany<const Q extends object>(where: Q & FilterOnly<Q>, values: Changed, as: ActAs | undefined): Promise<number>;
  /** Like `updateMany`, but deletes the records. */
  deleteMany<const Q extends object>(where: Q & FilterOnly<Q>, as?: ActAs): Promise<number>;
  /** Restores a deleted record of a resource with `softDelete`, emits `<resource>.restored`. Returns the restored record. */
  restore(id: string, as?: ActAs): Promise<Data>;
}

// biome-ignore lint/suspicious/noExplicitAny: stands for the values of any resource
type AnyValues = Record<string, any>;

/** A service whose fields aren't known at compile time. */
export type AnyService = RecordService<
  AnyValues,
  AnyValues,
  AnyValues & { id: string },
  AnyValues,
  AnyValues,
  // biome-ignore lint/suspicious/noExplicitAny: stands for the records of any resource
  any
>;

/** Returns the service of a resource: typed if found by its declaration, untyped by its name. Throws for an unknown resource. */
export interface Services {
  <S>(resource: DeclarationWithService<S>): S;
  (name: string): AnyService;
}

/** The part of a resource's declaration that identifies its service. */
export interface DeclarationWithService<S, N extends string = string> {
  name: N;
  /** Type-level only. */
  readonly $service?: S | undefined;
}

/**
 * The changes of a transaction are committed together or not at all. The services of the transaction see its changes. Before the commit, no
 * other connection sees the changes, and none of their events is sent.
 */
export interface Transaction extends Senders {
  /** The records of a resource, for code. */
  service: Services;
  push: {
    /** Stores a push message, which is sent after the commit. */
    enqueue(message: unknown): Promise<{ id: string }>;
  };
  /** Runs statements in the transaction, for extensions with their own tables. */
  database: Queryable;
  /** Queues work that runs after the commit, in order; not at all if the transaction is rolled back. Errors are logged. */
  afterCommit(work: () => unknown): void;
}

/** The caller's transaction, for features whose writes must be committed together with the caller's. */
export interface CallerTransaction {
  database: Executor;
  /** Runs after the commit, in order; not at all if the transaction is rolled back. */
  afterCommit(work: () => unknown): void;
}

/**
 * Runs `work` in one transaction: committed if it resolves, rolled back if it rejects (with the same error). The transaction holds a
 * database connection while `work` runs, so do no slow work in it. A single failed change (a duplicate) is undone on its own; code may
 * catch its error and continue.
 */
export type Transact = <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>;
