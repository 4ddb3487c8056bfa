import type { AggregateResult } from '../../declare/aggregate.ts';
import type { CountMode, CursorMeta, PageMeta } from '../../declare/service.ts';
import type { BatchFailure } from '../records/batch.ts';
import type { WriteOptions } from '../records/resource.ts';
import type { CallOptions } from '../request.ts';
import type {
  AggregateQueryAt,
  EachQuery,
  ExactAggregateQuery,
  ListQueryOf,
  OptionalParameters,
  OrderedFilters,
  Selection,
  SortTerm,
  Where,
} from './query.ts';
import type { ClientRecord, FieldName, IncludePath } from './record.ts';
import type { CallRoute } from './routes.ts';
import type { Member, RecordAt, ResourceAction, ShownNames } from './schema.ts';

/** A page of a list. */
export interface ClientPage<Data, Meta = PageMeta> {
  data: Data[];
  meta: Meta;
  /** Loads the page that follows; undefined on the last page. */
  next(): Promise<ClientPage<Data, CursorMeta> | undefined>;
}

/** The metadata of a page: after a cursor, and with `count: 'none'`, nothing is counted. */
type MetaOf<After, Count> = [Count] extends ['none'] ? CursorMeta : [After] extends [string] ? CursorMeta : PageMeta;

type CreateOf<Api, Key extends keyof Api> = Member<Api[Key], 'create', object>;
type UpdateOf<Api, Key extends keyof Api> = Member<Api[Key], 'update', object>;
type UniqueName<Api, Key extends keyof Api> = ShownNames<Member<Api[Key], 'unique', never>>;

/** A change of a batch. */
export type ClientBatchOperation<Api, Key extends keyof Api> =
  | { op: 'create'; data: CreateOf<Api, Key> }
  | { op: 'update'; id: string; data: UpdateOf<Api, Key>; ifMatch?: WriteOptions['ifMatch'] }
  | { op: 'upsert'; by: UniqueName<Api, Key>; data: CreateOf<Api, Key> }
  | { op: 'delete'; id: string; ifMatch?: WriteOptions['ifMatch'] };

/** The result of an operation that was performed. 201: created; 200: updated; 204: deleted. */
export type ClientBatchSuccess<Data> =
  | { ok: true; status: 200 | 201; data: Data }
  | { ok: true; status: 204; data?: undefined };

/** All methods of a resource. */
interface Methods<Api, Key extends keyof Api> {
  /**
   * Returns one page of records.
   *
   * @throws ApiError
   * @example const { data, meta } = await client.posts.list({ where: { status: 'published' }, sort: '-createdAt', include: ['author'] })
   */
  list<
    const Paths extends IncludePath<Api, Key> = never,
    const Names extends FieldName<Api, Key> = never,
    const After extends string | undefined = undefined,
    const Count extends CountMode | undefined = undefined,
  >(
    query?: ListQueryOf<Paths, Names, After, Count, SortTerm<Api, Key>, Where<Api, Key>> & OptionalParameters<Api, Key>,
    options?: CallOptions,
  ): Promise<ClientPage<ClientRecord<Api, Key, Paths, Names>, MetaOf<After, Count>>>;
  /** Iterates over every record of a list, page by page. `limit`: the number of records in a page. */
  each<const Paths extends IncludePath<Api, Key> = never, const Names extends FieldName<Api, Key> = never>(
    query?: EachQuery<Paths, Names, SortTerm<Api, Key>, Where<Api, Key>> & OptionalParameters<Api, Key>,
    options?: CallOptions,
  ): AsyncGenerator<ClientRecord<Api, Key, Paths, Names>, void, undefined>;
  /** Returns the first record of a list; undefined if the list is empty. */
  first<const Paths extends IncludePath<Api, Key> = never, const Names extends FieldName<Api, Key> = never>(
    query?: Selection<Paths, Names> &
      OrderedFilters<SortTerm<Api, Key>, Where<Api, Key>> &
      OptionalParameters<Api, Key>,
    options?: CallOptions,
  ): Promise<ClientRecord<Api, Key, Paths, Names> | undefined>;
  /** Returns a record. @throws ApiError `NOT_FOUND` if it does not exist or the caller may not read it */
  get<const Paths extends IncludePath<Api, Key> = never, const Names extends FieldName<Api, Key> = never>(
    id: string,
    selection?: Selection<Paths, Names>,
    options?: CallOptions,
  ): Promise<ClientRecord<Api, Key, Paths, Names>>;
  /** Creates a record. @throws ApiError `VALIDATION_ERROR` with details by field */
  create(data: CreateOf<Api, Key>, options?: CallOptions): Promise<ClientRecord<Api, Key>>;
  /** Changes the given fields of a record. */
  update(id: string, changes: UpdateOf<Api, Key>, options?: WriteOptions): Promise<ClientRecord<Api, Key>>;
  /** Deletes a record. */
  delete(id: string, options?: WriteOptions): Promise<void>;
  /** Restores a deleted record. */
  restore(id: string, options?: WriteOptions): Promise<ClientRecord<Api, Key>>;
  /** Performs many changes in one request: all or none, or with `perItem` each by itself. */
  batch(
    operations: readonly ClientBatchOperation<Api, Key>[],
    options?: CallOptions & { mode?: 'atomic' | undefined },
  ): Promise<ClientBatchSuccess<ClientRecord<Api, Key>>[]>;
  batch(
    operations: readonly ClientBatchOperation<Api, Key>[],
    options: CallOptions & { mode: 'atomic' | 'perItem' },
  ): Promise<(ClientBatchSuccess<ClientRecord<Api, Key>> | BatchFailure)[]>;
  /** Updates the record with the same value of a unique field, or creates one. */
  upsert(by: UniqueName<Api, Key>, data: CreateOf<Api, Key>, options?: CallOptions): Promise<ClientRecord<Api, Key>>;
  /** Computes counts, sums and other aggregates of the records of a list, by group. */
  aggregate<const Query extends AggregateQueryAt<Api, Key>>(
    query: Query & ExactAggregateQuery<Query, AggregateQueryAt<Api, Key>>,
    options?: CallOptions,
  ): Promise<AggregateResult<RecordAt<Api, Key>, Query>>;
}

/** The methods that each route of a resource serves. */
interface MethodsByAction {
  list: 'list' | 'each' | 'first';
  read: 'get';
  create: 'create';
  update: 'update';
  delete: 'delete';
  restore: 'restore';
  batch: 'batch' | 'upsert';
  aggregate: 'aggregate';
}

/** The methods of the resource with the key `Key`: those whose routes the resource has. */
export type ResourceMethods<Api, Key extends keyof Api> = Pick<
  Methods<Api, Key>,
  MethodsByAction[Member<Api[Key], 'actions', never> & ResourceAction]
> & {
  /** The path of the resource below `/api`. */
  readonly path: string;
  /**
   * Calls a custom route of the resource.
   *
   * @param name its method and path, as the resource declares them
   * @example await client.posts.call('POST /:id/publish', { params: { id } })
   */
  call: CallRoute<Api, Key>;
};

/** The resources of a client. */
export type Resources<Api> = { readonly [Key in keyof Api & string]: ResourceMethods<Api, Key> };
