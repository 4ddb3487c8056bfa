'use client';
import { hashKey, skipToken, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { getOrigin } from '../origin.ts';
import type { RecordSelection } from '../records/list-query.ts';
import type { ApiError } from '../request/errors.ts';
import type { Selection } from '../schema/query.ts';
import type { ClientRecord, FieldName, IncludePath } from '../schema/record.ts';
import type { LiveStatus } from './live-feeds.ts';
import { createRecordOptions } from './options.ts';
import { useBelfry } from './provider.ts';
import type { AnyRecord, AnyResource, TypedResource, UntypedResource } from './resource.ts';
import { userIdOf } from './session-state.ts';
import { keepFormerData, useLiveState, usePendingChanges, useSessionState } from './use-client-state.ts';

/** The options of `useRecord`. */
export interface UseRecordOptions {
  /** Follows the changes of the record. Default false. */
  live?: boolean | undefined;
  /** Whether the record is loaded at all. Default true. */
  enabled?: boolean | undefined;
  /** After a change of the id, show the former record until the new one is loaded. Default false. */
  keepPrevious?: boolean | undefined;
  /** ms during which a loaded record is not loaded again. Default: that of the cache, usually 0. */
  staleTime?: number | undefined;
  /** ms after which the record is loaded again, and again. Default: never. */
  refetchInterval?: number | undefined;
}

/** What `useRecord` returns. */
export interface RecordResult<Data> {
  /** The record with the optimistic changes; undefined until it is loaded, and after it was deleted. */
  data: Data | undefined;
  /** Whether there is no data and no error yet. */
  isPending: boolean;
  /** Whether a request is under way, also one that renews the data. */
  isFetching: boolean;
  /** Whether `data` is the former record (`keepPrevious`). */
  isPrevious: boolean;
  /** Whether the record was deleted, or has become invisible to the user, after it was loaded. */
  isDeleted: boolean;
  /** Why the last request failed; null after a success. `data` may be older data then. */
  error: ApiError | null;
  /** Loads the record again. */
  refetch(): Promise<void>;
  liveStatus: LiveStatus;
  /** Why the changes cannot be followed, if `liveStatus` is `closed`. */
  liveError: ApiError | undefined;
}

/**
 * Loads a record, and renders again when it changes.
 *
 * @param id undefined: nothing is loaded yet, such as while another record is loaded that contains the id
 * @example const { data: post, error } = useRecord(client.posts, id, { include: ['author'] }, { live: true })
 */
export function useRecord(
  resource: UntypedResource,
  id: string | undefined,
  selection?: RecordSelection,
  options?: UseRecordOptions,
): RecordResult<AnyRecord>;
export function useRecord<
  Api,
  Key extends keyof Api,
  const Paths extends IncludePath<Api, Key> = never,
  const Names extends FieldName<Api, Key> = never,
>(
  resource: TypedResource<Api, Key>,
  id: string | undefined,
  selection?: Selection<Paths, Names>,
  options?: UseRecordOptions,
): RecordResult<ClientRecord<Api, Key, Paths, Names>>;
export function useRecord(
  given: object,
  id: string | undefined,
  selection: object = {},
  { live = false, enabled = true, keepPrevious = false, ...options }: UseRecordOptions = {},
): RecordResult<unknown> {
  const resource = given as AnyResource;
  const { queryClient } = useBelfry();
  const session = useSessionState(getOrigin(resource));
  const userId = userIdOf(session);
  const isEnabled = enabled && !session.isPending && id !== undefined;
  const recordOptions = createRecordOptions(resource, id ?? '', selection, userId);
  const { queryKey, queryFn } = recordOptions;
  const { status, error: liveError } = useLiveState(resource, queryKey, live && isEnabled);

  const result = useQuery(
    {
      ...recordOptions,
      ...options,
      enabled: isEnabled,
      queryFn: id === undefined ? skipToken : queryFn!,
      placeholderData: keepPrevious ? keepFormerData(queryKey) : undefined,
    },
    queryClient,
  );

  const pending = usePendingChanges(resource, userId);
  const hash = hashKey([selection]);
  const loaded = result.data;
  // The hash stands for the selection
  const data = useMemo(() => {
    if (!loaded || pending === undefined) return loaded ?? undefined;
    return pending.view.applyToRecord(loaded, pending.changes, selection);
  }, [loaded, pending, hash]);

  // Ignore errors from a server render without a session.
  const error = (session.error ?? (session.isPending ? null : result.error) ?? null) as ApiError | null;
  return {
    data,
    isPending: loaded === undefined && error === null,
    isFetching: result.isFetching,
    isPrevious: result.isPlaceholderData,
    isDeleted: loaded !== undefined && data === undefined,
    error,
    async refetch() {
      await result.refetch();
    },
    liveStatus: status,
    liveError: status === 'closed' ? liveError : undefined,
  };
}
