import { hashKey, type QueryClient } from '@tanstack/react-query';
import { originOf } from '../client/origin.ts';
import type { ListQuery } from '../client/records/list-query.ts';
import type { ListKey, RecordKey } from './keys.ts';
import { mergeRecord } from './merge.ts';
import type { CachedList, CachedRecord } from './options.ts';
import type { AnyRecord, AnyResource } from './resource.ts';
import { trackSession, userIdOf } from './session-state.ts';

/** How a list or record follows changes. `off`: it does not. `closed`: the server has refused to send them; see `error`. */
export type LiveStatus = 'off' | 'loading' | 'live' | 'reconnecting' | 'closed';

/** The state of a live list or record. */
export interface LiveState {
  readonly status: LiveStatus;
  /** Why it cannot be loaded or followed; undefined if it can. */
  readonly error: unknown;
  /** Of a list: whether more records follow. */
  readonly hasMore: boolean;
  /** Of a list: whether more records are being loaded. */
  readonly isLoadingMore: boolean;
  /** Whether the data should be loaded without waiting for the stream any longer. */
  readonly isLate: boolean;
}

/** Follows the changes of a cached list or record, and writes them into the cache. */
interface Feed {
  loadMore?(): Promise<void>;
  close(): void;
}

/** What a feed writes to. Nothing is written after another user has signed in. */
interface FeedTarget {
  setState(state: Partial<LiveState>): void;
  /** Changes the data in the cache. A response that is under way may be older, and is dropped. Returns whether there was one. */
  write<T>(update: (cached: T | undefined) => T | undefined): boolean;
  /** Loads the query again. */
  reload(): void;
}

/** A feed, shared by the components that show the same data. */
interface Entry {
  state: LiveState;
  users: number;
  loadMore(): Promise<void>;
  close(): void;
}

/** The state of a query without a feed. */
export const NOT_LIVE: LiveState = {
  status: 'off',
  error: undefined,
  hasMore: false,
  isLoadingMore: false,
  isLate: false,
};
/** The state of a query whose feed has not begun. */
export const CONNECTING: LiveState = { ...NOT_LIVE, status: 'loading' };
/** A component that is replaced often shows the same data at once. */
const CLOSE_DELAY_MS = 1000;
/** Proxies may hold a stream back. Then the data is loaded without it. */
const LATE_AFTER_MS = 1000;

/** The feeds of a cache, by the hash of the query. */
class LiveEntries {
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<() => void>();
  readonly #queryClient: QueryClient;

  constructor(queryClient: QueryClient) {
    this.#queryClient = queryClient;
  }

  get(hash: string): Entry | undefined {
    return this.#entries.get(hash);
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    const own = () => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  };

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }

  /** Starts a feed, or shares the one that runs. Returns a function that ends the use. */
  use(resource: AnyResource, key: ListKey | RecordKey): () => void {
    const hash = hashKey(key);
    const entry = this.#entries.get(hash) ?? this.#start(resource, key, hash);
    entry.users += 1;
    return () => {
      entry.users -= 1;
      setTimeout(() => {
        if (entry.users === 0 && this.#entries.get(hash) === entry) this.#end(hash, entry);
      }, CLOSE_DELAY_MS);
    };
  }

  #end(hash: string, entry: Entry): void {
    this.#entries.delete(hash);
    entry.close();
    this.#notify();
  }

  #start(resource: AnyResource, key: ListKey | RecordKey, hash: string): Entry {
    const tracker = trackSession(originOf(resource));
    const isOfUser = () => userIdOf(tracker.current()) === key[2];
    let isEnded = false;
    const setState = (changed: Partial<LiveState>) => {
      if (isEnded) return;
      entry.state = { ...entry.state, ...changed };
      this.#notify();
    };
    const entry: Entry = {
      state: CONNECTING,
      users: 0,
      async loadMore() {
        setState({ isLoadingMore: true });
        // The state of the feed contains the error.
        await feed.loadMore?.().catch((error: unknown) => setState({ error }));
        setState({ isLoadingMore: false });
      },
      close() {
        isEnded = true;
        clearTimeout(timer);
        unsubscribe();
        feed.close();
      },
    };
    // The feed would go on with the records of the next user.
    const unsubscribe = tracker.subscribe(() => {
      if (!isOfUser() && !isEnded) this.#end(hash, entry);
    });
    const timer = setTimeout(() => {
      if (entry.state.status === 'loading') setState({ isLate: true });
    }, LATE_AFTER_MS);
    const feed = openFeed(resource, key, {
      setState,
      write: (update) => {
        if (isEnded || !isOfUser()) return false;
        const query = this.#queryClient.getQueryCache().get(hash);
        const isLoading = query !== undefined && query.state.fetchStatus !== 'idle';
        // Reverted, the query would lose what is written now.
        if (isLoading) void query.cancel({ revert: false, silent: true });
        this.#queryClient.setQueryData(key, update as never);
        return isLoading;
      },
      reload: () => {
        if (!isEnded) void this.#queryClient.invalidateQueries({ queryKey: key, exact: true });
      },
    });
    this.#entries.set(hash, entry);
    this.#notify();
    return entry;
  }
}

function openFeed(resource: AnyResource, key: ListKey | RecordKey, target: FeedTarget): Feed {
  try {
    return key[4] === 'list' ? feedList(resource, key[5], target) : feedRecord(resource, key as RecordKey, target);
  } catch (error) {
    // A filter or id that cannot be sent. The query fails with the same error.
    target.setState({ status: 'closed', error });
    return { close: () => undefined };
  }
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
  const setStatus = (status: LiveStatus, error?: unknown) => setState({ status, error });
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
      onError: (error) => setStatus('closed', error),
    },
  );
  return { close: stop };
}

const entriesByCache = new WeakMap<QueryClient, LiveEntries>();

/** Returns the feeds of a cache. */
export function liveEntriesOf(queryClient: QueryClient): LiveEntries {
  const entries = entriesByCache.get(queryClient) ?? new LiveEntries(queryClient);
  entriesByCache.set(queryClient, entries);
  return entries;
}
