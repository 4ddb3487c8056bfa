import type { ListQuery } from '../records/list-query.ts';
import { type ApiError, toApiError } from '../request/errors.ts';
import type { ListKey, RecordKey } from './keys.ts';
import { mergeRecord } from './merge.ts';
import type { CachedList, CachedRecord } from './options.ts';
import type { AnyRecord, AnyResource } from './resource.ts';

/** How a list or record follows changes. `off`: it does not. `closed`: the server has refused to send them; see `error`. */
export type LiveStatus = 'off' | 'loading' | 'live' | 'reconnecting' | 'closed';

/** The state of a live list or record. */
export interface LiveState {
  readonly status: LiveStatus;
  /** Why it cannot be loaded or followed; undefined if it can. */
  readonly error: ApiError | undefined;
  /** Of a list: whether more records follow. */
  readonly hasMore: boolean;
  /** Of a list: whether more records are being loaded. */
  readonly isLoadingMore: boolean;
  /** Whether the data should be loaded without waiting for the stream any longer. */
  readonly isLate: boolean;
}

/** Follows the changes of a cached list or record, and writes them into the cache. */
export interface Feed {
  loadMore?(): Promise<void>;
  close(): void;
}

/** What a feed writes to. Nothing is written after another user has signed in. */
export interface FeedTarget {
  setState(state: Partial<LiveState>): void;
  /** Changes the data in the cache. A response that is under way may be older, and is dropped. Returns whether there was one. */
  write<T>(update: (cached: T | undefined) => T | undefined): boolean;
  /** Loads the query again. */
  reload(): void;
}

/**
 * Opens a feed.
 *
 * @throws TypeError for a filter or an id that cannot be sent
 */
export function openFeed(resource: AnyResource, key: ListKey | RecordKey, target: FeedTarget): Feed {
  return key[4] === 'list' ? feedList(resource, key[5], target) : feedRecord(resource, key as RecordKey, target);
}

/** Follows a list. The live list loads the records itself. */
function feedList(resource: AnyResource, query: ListQuery, { setState, write }: FeedTarget): Feed {
  const live = resource.liveList(query);
  const update = () => {
    const { data, meta, status, error } = live.getSnapshot();
    if (status === 'live' || status === 'reconnecting') {
      const { total, totalCapped, hasMore } = meta;
      const page = {
        data: [...data],
        meta: { limit: query.limit ?? data.length, next: hasMore ? undefined : null, total, totalCapped },
      };
      write<CachedList<AnyRecord>>(() => ({ pages: [page], pageParams: [undefined] }));
    }
    setState({ status, error, hasMore: meta.hasMore });
  };
  const unsubscribe = live.subscribe(update);
  return {
    loadMore: () => live.loadMore(),
    close() {
      unsubscribe();
      live.close();
    },
  };
}

/** Follows a record that a query has loaded. */
function feedRecord(resource: AnyResource, key: RecordKey, { setState, write, reload }: FeedTarget): Feed {
  const [, , , , , id, selection] = key;
  const hasIncludes = (selection.include?.length ?? 0) > 0;
  const setStatus = (status: LiveStatus, error?: ApiError) => setState({ status, error });
  const stop = resource.subscribe(
    { id },
    {
      onEvent({ type, data }) {
        const isGone = type === 'left' || type === 'deleted';
        const isInterrupted = write<CachedRecord<AnyRecord>>((cached) => {
          if (isGone) return null;
          return cached && data ? mergeRecord(cached, data, selection) : cached;
        });
        // Events contain no other records, and none that was erased.
        if (!isGone && (isInterrupted || hasIncludes || data === undefined || type === 'restored')) reload();
      },
      onReady() {
        setStatus('live');
        // Changes may have been missed since the record was loaded.
        reload();
      },
      onReset: reload,
      onDisconnect: () => setStatus('reconnecting'),
      onError: (error) => setStatus('closed', toApiError(error)),
    },
  );
  return { close: stop };
}
