import { hashKey, type QueryClient } from '@tanstack/react-query';
import { getOrigin } from '../origin.ts';
import { createListeners } from '../realtime/listeners.ts';
import { toApiError } from '../request/errors.ts';
import type { ListKey, RecordKey } from './keys.ts';
import type { Feed, FeedTarget, LiveState } from './live-feeds.ts';
import type { AnyResource } from './resource.ts';
import { trackSession, userIdOf } from './session-state.ts';

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
/** A component that remounts often resubscribes at once. */
const CLOSE_DELAY_MS = 1000;
/** Proxies may hold a stream back. Then the data is loaded without it. */
const LATE_AFTER_MS = 1000;

const loadFeeds = () => import('./live-feeds.ts');

/** The feeds of a cache, by the hash of the query. */
class LiveEntries {
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = createListeners();
  readonly #queryClient: QueryClient;

  constructor(queryClient: QueryClient) {
    this.#queryClient = queryClient;
  }

  get(hash: string): Entry | undefined {
    return this.#entries.get(hash);
  }

  readonly subscribe = this.#listeners.subscribe;

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
    this.#listeners.notify();
  }

  #start(resource: AnyResource, key: ListKey | RecordKey, hash: string): Entry {
    const tracker = trackSession(getOrigin(resource));
    const isOfUser = () => userIdOf(tracker.current()) === key[2];
    let isEnded = false;
    let feed: Feed | undefined;
    const setState = (changed: Partial<LiveState>) => {
      if (isEnded) return;
      entry.state = { ...entry.state, ...changed };
      this.#listeners.notify();
    };
    const target: FeedTarget = {
      setState,
      write: (update) => {
        if (isEnded || !isOfUser()) return false;
        const query = this.#queryClient.getQueryCache().get(hash);
        const isLoading = query !== undefined && query.state.fetchStatus !== 'idle';
        // Do not revert: that would discard the write below.
        if (isLoading) void query.cancel({ revert: false, silent: true });
        this.#queryClient.setQueryData(key, update as never);
        return isLoading;
      },
      reload: () => {
        if (!isEnded) void this.#queryClient.invalidateQueries({ queryKey: key, exact: true });
      },
    };
    const entry: Entry = {
      state: CONNECTING,
      users: 0,
      async loadMore() {
        setState({ isLoadingMore: true });
        // The state of the feed contains the error.
        await feed?.loadMore?.().catch((error: unknown) => setState({ error: toApiError(error) }));
        setState({ isLoadingMore: false });
      },
      close() {
        isEnded = true;
        clearTimeout(timer);
        unsubscribe();
        feed?.close();
      },
    };
    // The feed would go on with the records of the next user.
    const unsubscribe = tracker.subscribe(() => {
      if (!isOfUser() && !isEnded) this.#end(hash, entry);
    });
    const timer = setTimeout(() => {
      if (entry.state.status === 'loading') setState({ isLate: true });
    }, LATE_AFTER_MS);
    // Pages without live data do not load its code.
    loadFeeds()
      .then(({ openFeed }) => {
        if (!isEnded) feed = openFeed(resource, key, target);
      })
      .catch((error: unknown) => setState({ status: 'closed', error: toApiError(error) }));
    this.#entries.set(hash, entry);
    this.#listeners.notify();
    return entry;
  }
}

const entriesByCache = new WeakMap<QueryClient, LiveEntries>();

/** Returns the feeds of a cache. */
export function getOrCreateLiveEntries(queryClient: QueryClient): LiveEntries {
  const entries = entriesByCache.get(queryClient) ?? new LiveEntries(queryClient);
  entriesByCache.set(queryClient, entries);
  return entries;
}
