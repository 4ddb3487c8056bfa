import { type InfiniteData, infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { getOrigin } from '../origin.ts';
import type { ListQuery as AnyListQuery, RecordSelection } from '../records/list-query.ts';
import type { PageMeta } from '../records/page.ts';
import type { ApiError } from '../request/errors.ts';
import type { Selection } from '../schema/query.ts';
import type { ClientRecord, FieldName, IncludePath } from '../schema/record.ts';
import { keyOf, type ListKey, type RecordKey } from './keys.ts';
import type { AnyRecord, AnyResource, FirstPageQuery, TypedResource, UntypedResource } from './resource.ts';
import { loadAs, trackSession, userIdOf } from './session-state.ts';

/** A page of a list in the cache. */
export interface CachedPage<Data> {
  data: Data[];
  meta: PageMeta;
}

/** A list in the cache: its pages, and the positions after which they begin. */
export type CachedList<Data> = InfiniteData<CachedPage<Data>, string | undefined>;

/** A record in the cache; null if it was deleted, or is no longer visible to the user. */
export type CachedRecord<Data> = Data | null;

/** The options of a list for a user. */
export function createListOptions(resource: AnyResource, query: AnyListQuery, userId: string | null) {
  const queryKey: ListKey = [...keyOf(resource, userId), 'list', query];
  return infiniteQueryOptions<CachedPage<AnyRecord>, ApiError, CachedList<AnyRecord>, ListKey, string | undefined>({
    queryKey,
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }) =>
      loadAs(getOrigin(resource), userId, async () => {
        // The position takes the place of the page.
        const { data, meta } = await resource.list(pageParam === undefined ? query : { ...query, after: pageParam }, {
          signal,
        });
        return { data, meta };
      }),
    // A numbered page has no successor: the next page is another query.
    getNextPageParam: ({ meta }) => (query.page === undefined ? (meta.next ?? undefined) : undefined),
    // The client repeats requests itself, where that is useful.
    retry: false,
  });
}

/** The options of a record for a user. */
export function createRecordOptions(
  resource: AnyResource,
  id: string,
  selection: RecordSelection,
  userId: string | null,
) {
  const queryKey: RecordKey = [...keyOf(resource, userId), 'record', id, selection];
  return queryOptions<CachedRecord<AnyRecord>, ApiError, CachedRecord<AnyRecord>, RecordKey>({
    queryKey,
    queryFn: ({ signal }) => loadAs(getOrigin(resource), userId, () => resource.get(id, selection, { signal })),
    retry: false,
  });
}

const currentUserId = (resource: object) => userIdOf(trackSession(getOrigin(resource)).current());

/** The options with which TanStack Query loads a list. */
export type ListOptions<Data> = ReturnType<
  typeof infiniteQueryOptions<CachedPage<Data>, ApiError, CachedList<Data>, ListKey, string | undefined>
>;

/** The options with which TanStack Query loads a record. */
export type RecordOptions<Data> = ReturnType<
  typeof queryOptions<CachedRecord<Data>, ApiError, CachedRecord<Data>, RecordKey>
>;

/**
 * Returns the options of a list for TanStack Query, as `useList` uses them: to prefetch it on a server or before a page is opened, or to read it
 * from the cache. They are those of the user who is signed in now.
 *
 * @example await queryClient.prefetchInfiniteQuery(listOptions(client.posts, { where: { status: 'published' } }))
 */
export function listOptions(resource: UntypedResource, query?: AnyListQuery): ListOptions<AnyRecord>;
export function listOptions<
  Api,
  Key extends keyof Api,
  const Paths extends IncludePath<Api, Key> = never,
  const Names extends FieldName<Api, Key> = never,
>(
  resource: TypedResource<Api, Key>,
  query?: FirstPageQuery<Api, Key, Paths, Names>,
): ListOptions<ClientRecord<Api, Key, Paths, Names>>;
export function listOptions(resource: object, query: object = {}): object {
  return createListOptions(resource as AnyResource, query, currentUserId(resource));
}

/**
 * Returns the options of a record for TanStack Query, as `useRecord` uses them. They are those of the user who is signed in now.
 *
 * @example await queryClient.prefetchQuery(recordOptions(client.posts, id, { include: ['author'] }))
 */
export function recordOptions(
  resource: UntypedResource,
  id: string,
  selection?: RecordSelection,
): RecordOptions<AnyRecord>;
export function recordOptions<
  Api,
  Key extends keyof Api,
  const Paths extends IncludePath<Api, Key> = never,
  const Names extends FieldName<Api, Key> = never,
>(
  resource: TypedResource<Api, Key>,
  id: string,
  selection?: Selection<Paths, Names>,
): RecordOptions<ClientRecord<Api, Key, Paths, Names>>;
export function recordOptions(resource: object, id: string, selection: object = {}): object {
  return createRecordOptions(resource as AnyResource, id, selection, currentUserId(resource));
}
