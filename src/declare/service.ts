import type { Request } from 'express';
import type { Viewer } from './actor.ts';
import type { Operator } from './operator.ts';

/** The privilege of a service call, and the user and the request that events and audit record for it. */
export interface ActAs {
  /**
   * `system`: everything is validated, no policy applies, and hidden and read-only fields may be set. `user`: policies, scope
   * filter and field rules apply as to a request of the user. Default: `user` where `user` is given, else `system`.
   */
  as?: 'system' | 'user' | undefined;
  /**
   * Default: the caller of the request in which the call is made. An explicit undefined (`{ user: ctx.user }` of a visitor) is a
   * caller who is not signed in.
   */
  user?: Viewer | undefined;
  /**
   * The request of that user: policy functions and scope filters see it, events carry its id. Default: the request in which
   * the call is made.
   */
  req?: Request | undefined;
}

/** With the privilege of the system. */
type AsSystem = ActAs & ({ as: 'system' } | { as?: 'system' | undefined; user?: never });

/** On whose behalf a record is changed. */
export interface ActAsOn extends ActAs {
  /** Only while its `updatedAt` is still this; else PRECONDITION_FAILED. */
  ifMatch?: string | undefined;
}

/** The words of a list query that are no filters. */
interface ListWords {
  page?: number | string | undefined;
  limit?: number | string | undefined;
  sort?: string | undefined;
  after?: string | undefined;
  q?: string | undefined;
  fields?: string | undefined;
  include?: string | undefined;
  /** Of a resource with `softDelete`: the deleted records alone, or together with the others. */
  deleted?: 'only' | 'with' | undefined;
}

type Compared = string | number | boolean | Date | null;

/** What a field is compared with: a value, a list of which it is one, null for none, or operators: `{ gte: 3, lt: 5 }`. */
type FilterInput<V> = V extends undefined
  ? never
  : V extends Compared | readonly Compared[]
    ? V
    : { [K in keyof V]: K extends Operator ? Compared | readonly Compared[] : never };

/**
 * A list query: `{ status: 'draft', points: { gte: 3 }, sort: '-createdAt', limit: 10 }`. As in a query string,
 * `{ 'points[gte]': 3 }` says the same. A filter that is undefined is refused: left out, it would find everybody's records.
 */
type ListInput<Q> = {
  [K in keyof Q]: K extends keyof ListWords ? ListWords[K] : K extends 'count' ? Q[K] : FilterInput<Q[K]>;
};

/** A list query without its part: `each` reads all of it. */
type WholeListInput<Q> = { [K in keyof ListInput<Q>]: K extends 'page' | 'limit' | 'after' ? never : ListInput<Q>[K] };

/** What is said of a numbered page. */
export interface PageMeta {
  total: number;
  page: number;
  limit: number;
  pages: number;
  /** The cursor that goes on behind this page; absent on the last one. */
  next?: string;
  /** Whether the page holds fewer records than `limit` because more would be too large; only in answers to clients. */
  truncated?: true;
}

/** What is said of a page behind a cursor, and of one without the total. */
export interface CursorMeta {
  limit: number;
  /** What `after` takes to go on; null when there is no more. */
  next: string | null;
  /** As in `PageMeta`. */
  truncated?: true;
}

/** What is said of the answer to a list query: `after` and `count: 'none'` leave out the total. */
export type MetaOf<Q> = Q extends { after: string } | { count: 'none' } ? CursorMeta : PageMeta;

/** A page of records, as the query `Q` asked for it. */
export interface Page<R, Q = unknown> {
  data: R[];
  meta: MetaOf<Q>;
}

/**
 * What a service does, by what it takes to create a record and to change one, and what records hold; `Body` and `Changed` are
 * what it takes on behalf of a user.
 */
export interface RecordService<Input, Changes, Data, Body = Input, Changed = Changes> {
  /** Validates and stores a record, emits `<resource>.created`. */
  create(input: Input, as?: AsSystem): Promise<Data>;
  create(input: Body, as: ActAs | undefined): Promise<Data>;
  /** @throws ApiError NOT_FOUND when there is no such record or it is out of reach */
  read(id: string, as?: ActAs): Promise<Data>;
  /** `limit` goes up to 1,000. As the system any stored field may be filtered and sorted by. */
  list<const Q extends object>(query?: Q & ListInput<Q>, as?: ActAs): Promise<Page<Data, Q>>;
  /**
   * Every record of a list, by id unless `sort` says otherwise. A hundred are read at a time, so that a list of any length takes
   * little memory. Policy and scope are asked once, at the beginning.
   *
   * @example for await (const ticket of service('ticket').each({ state: 'open' })) { … }
   */
  each<const Q extends object>(query?: Q & WholeListInput<Q>, as?: ActAs): AsyncIterable<Data>;
  /** The first record of a list; undefined when it is empty. */
  first<const Q extends object>(query?: Q & ListInput<Q>, as?: ActAs): Promise<Data | undefined>;
  /** How many records a list has in all. */
  count<const Q extends object>(query?: Q & ListInput<Q>, as?: ActAs): Promise<number>;
  /** Changes the given fields, emits `<resource>.updated`. */
  update(id: string, input: Changes, as?: AsSystem & ActAsOn): Promise<Data>;
  update(id: string, input: Changed, as: ActAsOn | undefined): Promise<Data>;
  /** Removes a record, emits `<resource>.deleted`. Gives the record as it was. */
  delete(id: string, as?: ActAsOn): Promise<Data>;
  /** Takes a deleted record of a resource with `softDelete` back, emits `<resource>.restored`. Gives the record as it is now. */
  restore(id: string, as?: ActAs): Promise<Data>;
}

// biome-ignore lint/suspicious/noExplicitAny: stands for the values of any resource
type AnyValues = Record<string, any>;

/** A service whose fields aren't known at compile time. */
export type AnyService = RecordService<AnyValues, AnyValues, AnyValues & { id: string }>;

/** Gives the service of a resource: typed, by its declaration, or by its name. Throws for one that the app does not have. */
export interface Services {
  <S>(resource: Serviced<S>): S;
  (name: string): AnyService;
}

/** A declaration, as far as services need it. */
export interface Serviced<S, N extends string = string> {
  name: N;
  /** Type-level only. */
  readonly $service?: S | undefined;
}
