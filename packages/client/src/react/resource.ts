import type { LiveListQuery } from '../realtime/list-source.ts';
import type { LiveList } from '../realtime/live-list.ts';
import type { RecordChange } from '../realtime/record-change.ts';
import type { ListQuery, RecordSelection } from '../records/list-query.ts';
import type { PageMeta } from '../records/page.ts';
import type { CallOptions } from '../request/request.ts';
import type { WriteOptions } from '../resource.ts';
import type { ListQueryOf, OptionalParameters, SortTerm, Where } from '../schema/query.ts';

/** A record of any resource. */
export interface AnyRecord {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** A resource as the hooks call it. The public types of the hooks are stricter. */
export interface AnyResource {
  readonly path: string;
  list(query: ListQuery, options: CallOptions): Promise<{ data: AnyRecord[]; meta: PageMeta }>;
  get(id: string, selection: RecordSelection, options: CallOptions): Promise<AnyRecord>;
  create(data: object): Promise<AnyRecord>;
  update(id: string, changes: object, options: WriteOptions): Promise<AnyRecord>;
  delete(id: string, options: WriteOptions): Promise<void>;
  restore(id: string, options: WriteOptions): Promise<AnyRecord>;
  liveList(query: LiveListQuery): LiveList<AnyRecord>;
  subscribe(
    subscription: { id: string },
    handlers: {
      onEvent(event: RecordChange<AnyRecord>): void;
      onReady(): void;
      onReset(): void;
      onDisconnect(): void;
      onError(error: unknown): void;
    },
  ): () => void;
}

/** A resource whose types the compiler knows: `client.posts`. */
export interface TypedResource<Api, Key extends keyof Api> {
  readonly path: string;
  readonly $types: { api: Api; key: Key } | undefined;
}

/** A resource of a client that was created without types. */
export interface UntypedResource {
  readonly path: string;
  readonly $types?: never;
  readonly list: (...given: never) => unknown;
}

/** The query of a list that begins at its first page. */
export type FirstPageQuery<Api, Key extends keyof Api, Paths, Names> = ListQueryOf<
  Paths,
  Names,
  undefined,
  'exact' | 'capped' | 'none' | undefined,
  SortTerm<Api, Key>,
  Where<Api, Key>
> &
  OptionalParameters<Api, Key>;
