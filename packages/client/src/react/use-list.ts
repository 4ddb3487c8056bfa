'use client';
import { hashKey, useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { getOrigin } from '../origin.ts';
import type { ListQuery as AnyListQuery } from '../records/list-query.ts';
import type { PageMeta } from '../records/page.ts';
import type { ApiError } from '../request/errors.ts';
import type { ClientRecord, FieldName, IncludePath } from '../schema/record.ts';
import { getOrCreateLiveEntries } from './live-entries.ts';
import type { LiveStatus } from './live-feeds.ts';
import { createListOptions } from './options.ts';
import { useBelfry } from './provider.ts';
import type { AnyRecord, AnyResource, FirstPageQuery, TypedResource, UntypedResource } from './resource.ts';
import { userIdOf } from './session-state.ts';
import { keepFormerData, useLiveState, usePendingChanges, useSessionState } from './use-client-state.ts';

/** The options of `useList`. */
export interface UseListOptions<Live extends boolean | undefined = boolean | undefined> {
  /** Follows the changes of the list, in place of loading it again. Default false. */
  live?: Live | undefined;
  /** Whether the list is loaded at all. Default true. */
  enabled?: boolean | undefined;
  /** After a change of the query, show the former list until the new one is loaded. Default false. */
  keepPrevious?: boolean | undefined;
  /** ms during which a loaded list is not loaded again. Default: that of the cache, usually 0. */
  staleTime?: number | undefined;
  /** ms after which the list is loaded again, and again. Default: never. */
  refetchInterval?: number | undefined;
}

/** What is known of a list besides its records. */
export type ListMeta = Pick<PageMeta, 'total' | 'totalCapped' | 'page' | 'pages' | 'limit'>;

/** What `useList` returns. */
export interface ListResult<Data> {
  /** The records of all loaded pages, with the optimistic changes; undefined until they are loaded. */
  data: Data[] | undefined;
  meta: ListMeta | undefined;
  /** Whether there is no data and no error yet. */
  isPending: boolean;
  /** Whether a request is under way, also one that renews the data. */
  isFetching: boolean;
  /** Whether `data` is that of the former query (`keepPrevious`). */
  isPrevious: boolean;
  /** Why the last request failed; null after a success. `data` may be older data then. */
  error: ApiError | null;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  /** Loads the next page. `data` then contains its records as well. */
  fetchNextPage(): Promise<void>;
  /** Loads the list again. */
  refetch(): Promise<void>;
  liveStatus: LiveStatus;
  /** Why the changes cannot be followed, if `liveStatus` is `closed`. */
  liveError: ApiError | undefined;
}

/** What a live list cannot follow. */
const NOT_FOLLOWED = ['page', 'after', 'deleted'] as const;

/** Refuses what a live list cannot follow. */
type Followed<Live> = true extends Live ? { [Name in (typeof NOT_FOLLOWED)[number]]?: undefined } : unknown;

function assertCanBeLive(query: AnyListQuery): void {
  const name = NOT_FOLLOWED.find((one) => query[one] !== undefined);
  if (name !== undefined) throw new TypeError(`A live list cannot have "${name}": leave it out, or remove "live"`);
}

/**
 * Loads a list, and renders again when it changes.
 *
 * @example const { data, isPending, error } = useList(client.posts, { where: { status: 'published' }, include: ['author'] }, { live: true })
 */
export function useList<Live extends boolean | undefined = false>(
  resource: UntypedResource,
  query?: AnyListQuery & Followed<Live>,
  options?: UseListOptions<Live>,
): ListResult<AnyRecord>;
export function useList<
  Api,
  Key extends keyof Api,
  const Paths extends IncludePath<Api, Key> = never,
  const Names extends FieldName<Api, Key> = never,
  Live extends boolean | undefined = false,
>(
  resource: TypedResource<Api, Key>,
  query?: FirstPageQuery<Api, Key, Paths, Names> & Followed<Live>,
  options?: UseListOptions<Live>,
): ListResult<ClientRecord<Api, Key, Paths, Names>>;
export function useList(
  given: object,
  givenQuery: object = {},
  { live = false, enabled = true, keepPrevious = false, ...options }: UseListOptions = {},
): ListResult<unknown> {
  const resource = given as AnyResource;
  const query = givenQuery as AnyListQuery;
  const { queryClient } = useBelfry();
  const session = useSessionState(getOrigin(resource));
  const userId = userIdOf(session);
  const isEnabled = enabled && !session.isPending;
  const listOptions = createListOptions(resource, query, userId);
  const { queryKey } = listOptions;
  if (live) assertCanBeLive(query);
  const {
    status,
    error: liveError,
    hasMore,
    isLate,
    isLoadingMore,
  } = useLiveState(resource, queryKey, live && isEnabled);
  const isFollowed = status === 'live' || status === 'reconnecting';
  const isAwaited = status === 'loading' && !isLate;

  const result = useInfiniteQuery(
    {
      ...listOptions,
      ...options,
      enabled: isEnabled && !isFollowed && !isAwaited,
      placeholderData: keepPrevious ? keepFormerData(queryKey) : undefined,
    },
    queryClient,
  );

  const pending = usePendingChanges(resource, userId);
  const hash = hashKey([query]);
  const list = result.data;
  // The hash stands for the query
  const [data, meta] = useMemo(() => {
    if (list === undefined) return [undefined, undefined];
    const loaded = list.pages.flatMap((page) => page.data);
    const shown = pending?.view.applyToList(loaded, pending.changes, query) ?? loaded;
    const { next: _, ...rest } = list.pages[0]!.meta;
    const { total } = rest;
    return [shown, total === undefined ? rest : { ...rest, total: total - (loaded.length - shown.length) }] as const;
  }, [list, pending, hash]);

  // Without a session, an error is that of another time: a server that has tried to load the data for nobody.
  const error = (session.error ??
    (session.isPending ? null : result.error) ??
    (status === 'closed' ? null : liveError) ??
    null) as ApiError | null;
  return {
    data,
    meta,
    isPending: data === undefined && error === null,
    isFetching: result.isFetching || (isAwaited && isEnabled) || isLoadingMore,
    isPrevious: result.isPlaceholderData,
    error,
    hasNextPage: isFollowed ? hasMore : result.hasNextPage,
    isFetchingNextPage: isFollowed ? isLoadingMore : result.isFetchingNextPage,
    async fetchNextPage() {
      const entry = isFollowed ? getOrCreateLiveEntries(queryClient).get(hashKey(queryKey)) : undefined;
      await (entry === undefined ? result.fetchNextPage() : entry.loadMore());
    },
    async refetch() {
      await result.refetch();
    },
    liveStatus: status,
    liveError: status === 'closed' ? liveError : undefined,
  };
}
