import type { RealtimeMethods } from './realtime/methods.ts';
import type { BatchFailure, BatchSuccess } from './records/batch.ts';
import type { CountedMeta, Page, PageMeta } from './records/page.ts';
import type { UploadedFile, UploadOptions, UploadSource } from './records/upload.ts';
import type { IfMatch } from './records/versions.ts';
import type { CallOptions } from './request/request.ts';
import type { WriteOptions } from './resource.ts';
import type { AggregateResult, CountMode } from './schema/declarations.ts';
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
} from './schema/query.ts';
import type { ClientRecord, FieldName, IncludePath } from './schema/record.ts';
import type { CallRoute } from './schema/routes.ts';
import type { Member, RecordAt, ShownNames } from './schema/schema.ts';

/** The metadata of a page: with the total if the query asks for it. */
type MetaOf<After, Count> = [Count] extends ['exact' | 'capped']
  ? [After] extends [undefined]
    ? CountedMeta
    : PageMeta
  : PageMeta;

interface ListMethods<Api, Key extends keyof Api> {
  /** Loads a page of the list. @throws ApiError as every method does */
  list<
    const Paths extends IncludePath<Api, Key> = never,
    const Names extends FieldName<Api, Key> = never,
    const After extends string | undefined = undefined,
    const Count extends CountMode | undefined = undefined,
  >(
    query?: ListQueryOf<Paths, Names, After, Count, SortTerm<Api, Key>, Where<Api, Key>> & OptionalParameters<Api, Key>,
    options?: CallOptions,
  ): Promise<Page<ClientRecord<Api, Key, Paths, Names>, MetaOf<After, Count>>>;
  /**
   * Iterates over all records of a list. Holds one page in memory, of `limit` records, and loads the next one when it is needed.
   *
   * @example for await (const post of client.posts.each({ where: { status: 'published' }, limit: 100 })) print(post);
   */
  each<const Paths extends IncludePath<Api, Key> = never, const Names extends FieldName<Api, Key> = never>(
    query?: EachQuery<Paths, Names, SortTerm<Api, Key>, Where<Api, Key>> & OptionalParameters<Api, Key>,
    options?: CallOptions,
  ): AsyncGenerator<ClientRecord<Api, Key, Paths, Names>, void, undefined>;
  /** Loads the first record of a list; undefined if there is none. */
  first<const Paths extends IncludePath<Api, Key> = never, const Names extends FieldName<Api, Key> = never>(
    query?: Selection<Paths, Names> &
      OrderedFilters<SortTerm<Api, Key>, Where<Api, Key>> &
      OptionalParameters<Api, Key>,
    options?: CallOptions,
  ): Promise<ClientRecord<Api, Key, Paths, Names> | undefined>;
}

interface ReadMethods<Api, Key extends keyof Api> {
  /** Loads a record. @throws ApiError `NOT_FOUND` */
  get<const Paths extends IncludePath<Api, Key> = never, const Names extends FieldName<Api, Key> = never>(
    id: string,
    selection?: Selection<Paths, Names>,
    options?: CallOptions,
  ): Promise<ClientRecord<Api, Key, Paths, Names>>;
}

type CreateOf<Api, Key extends keyof Api> = Member<Api[Key], 'create', object>;
type UpdateOf<Api, Key extends keyof Api> = Member<Api[Key], 'update', object>;

interface CreateMethods<Api, Key extends keyof Api> {
  /** Creates a record. Repeated after a lost connection, it still creates one. @throws ApiError `VALIDATION_ERROR` */
  create(data: CreateOf<Api, Key>, options?: CallOptions): Promise<ClientRecord<Api, Key>>;
}

interface UpdateMethods<Api, Key extends keyof Api> {
  /** Changes fields of a record; null removes a value. @throws ApiError `PRECONDITION_FAILED` with `ifMatch` */
  update(id: string, changes: UpdateOf<Api, Key>, options?: WriteOptions): Promise<ClientRecord<Api, Key>>;
}

interface DeleteMethods {
  /** Deletes a record. @throws ApiError `NOT_FOUND`; `PRECONDITION_FAILED` with `ifMatch` */
  delete(id: string, options?: WriteOptions): Promise<void>;
}

interface RestoreMethods<Api, Key extends keyof Api> {
  /** Restores a deleted record. */
  restore(id: string, options?: WriteOptions): Promise<ClientRecord<Api, Key>>;
}

type UniqueOf<Api, Key extends keyof Api> = ShownNames<Member<Api[Key], 'unique', never>>;

type Operation<Api, Key extends keyof Api, Actions = Member<Api[Key], 'actions', never>> =
  | ('create' extends Actions ? { op: 'create'; data: CreateOf<Api, Key> } : never)
  | ('update' extends Actions
      ? { op: 'update'; id: string; data: UpdateOf<Api, Key>; ifMatch?: IfMatch | undefined }
      : never)
  | ('create' | 'update' extends Actions ? { op: 'upsert'; by: UniqueOf<Api, Key>; data: CreateOf<Api, Key> } : never)
  | ('delete' extends Actions ? { op: 'delete'; id: string; ifMatch?: IfMatch | undefined } : never);

type ResultOf<Api, Key extends keyof Api, Op, Mode> =
  | BatchSuccess<Op extends { op: 'delete' } ? undefined : ClientRecord<Api, Key>>
  | (Mode extends 'perItem' ? BatchFailure : never);

interface BatchMethods<Api, Key extends keyof Api> {
  /**
   * Performs up to 1,000 changes in one request, in order.
   *
   * @param options `mode`: `atomic`, the default, performs all operations or none; `perItem` performs each by itself
   * @returns the results, in the order of the operations
   */
  batch<const Operations extends readonly Operation<Api, Key>[], Mode extends 'atomic' | 'perItem' = 'atomic'>(
    operations: readonly [...Operations],
    options?: CallOptions & { mode?: Mode | undefined },
  ): Promise<{ -readonly [I in keyof Operations]: ResultOf<Api, Key, Operations[I], Mode> }>;
}

interface UpsertMethods<Api, Key extends keyof Api> {
  /** Updates the record with the same value of a unique field, or creates one. */
  upsert(by: UniqueOf<Api, Key>, data: CreateOf<Api, Key>, options?: CallOptions): Promise<ClientRecord<Api, Key>>;
}

interface AggregateMethods<Api, Key extends keyof Api> {
  /**
   * Counts and sums up records, in groups.
   *
   * @example await client.tickets.aggregate({ group: ['status', { month: 'createdAt' }], count: true, sum: ['hours'] })
   */
  aggregate<const Query extends AggregateQueryAt<Api, Key>>(
    query: Query & ExactAggregateQuery<Query, AggregateQueryAt<Api, Key>>,
    options?: CallOptions,
  ): Promise<AggregateResult<RecordAt<Api, Key>, Query>>;
}

interface UploadMethods<Api, Key extends keyof Api> {
  /**
   * Uploads a file for a field. The result is the value for the field.
   *
   * @throws ApiError `PAYLOAD_TOO_LARGE`, `VALIDATION_ERROR` if the field does not accept the file
   * @example const cover = await client.posts.upload('cover', file); await client.posts.update(id, { cover });
   */
  upload(field: Member<Api[Key], 'files', never>, file: UploadSource, options?: UploadOptions): Promise<UploadedFile>;
}

/** `Methods` if the resource has the action. */
type If<Api, Key extends keyof Api, Action extends string, Methods> =
  Action extends Member<Api[Key], 'actions', never> ? Methods : unknown;

/** The methods of the resource `Key`: those whose routes exist. */
export type ResourceMethods<Api, Key extends keyof Api> = {
  /** The path of the resource below `/api`. */
  readonly path: string;
  /** Carries the types of the resource. It has no value. */
  readonly $types: { api: Api; key: Key } | undefined;
} & If<Api, Key, 'list', ListMethods<Api, Key> & RealtimeMethods<Api, Key>> &
  If<Api, Key, 'read', ReadMethods<Api, Key>> &
  If<Api, Key, 'create', CreateMethods<Api, Key>> &
  If<Api, Key, 'update', UpdateMethods<Api, Key>> &
  If<Api, Key, 'delete', DeleteMethods> &
  If<Api, Key, 'restore', RestoreMethods<Api, Key>> &
  If<Api, Key, 'batch', BatchMethods<Api, Key>> &
  ([UniqueOf<Api, Key>] extends [never] ? unknown : If<Api, Key, 'batch', UpsertMethods<Api, Key>>) &
  If<Api, Key, 'aggregate', AggregateMethods<Api, Key>> &
  ([Member<Api[Key], 'files', never>] extends [never] ? unknown : UploadMethods<Api, Key>) & {
    /**
     * Calls a custom route by its name: its method and path, as the resource declares them.
     *
     * @example await client.posts.call('POST /:id/publish', { params: { id } })
     */
    call: CallRoute<Api, Key>;
  };
