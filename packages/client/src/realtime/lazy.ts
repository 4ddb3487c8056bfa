import { toApiError } from '../request/errors.ts';
import type { Requester } from '../request/request.ts';
import type { SessionSource } from './hub.ts';
import type { Realtime } from './index.ts';
import { type LiveListSnapshot, LOADING_SNAPSHOT } from './list-snapshot.ts';
import type { LiveListQuery } from './list-source.ts';
import type { LiveList } from './live-list.ts';

/** A live list whose code is still being loaded: it looks like one whose records are still being loaded. */
function createPendingList<Data>(load: Promise<LiveList<Data>>): LiveList<Data> {
  const listeners = new Set<() => void>();
  let list: LiveList<Data> | undefined;
  let snapshot: LiveListSnapshot<Data> = LOADING_SNAPSHOT;
  const notify = () => {
    for (const listener of [...listeners]) if (listeners.has(listener)) listener();
  };
  const getSnapshot = () => list?.getSnapshot() ?? snapshot;
  load.then(
    (loaded) => {
      if (snapshot.status === 'closed') return loaded.close();
      list = loaded;
      list.subscribe(notify);
    },
    (error) => {
      snapshot = { ...snapshot, status: 'closed', error: toApiError(error) };
      notify();
    },
  );
  return {
    get data() {
      return getSnapshot().data;
    },
    get meta() {
      return getSnapshot().meta;
    },
    get status() {
      return getSnapshot().status;
    },
    get error() {
      return getSnapshot().error;
    },
    getSnapshot,
    subscribe(listener) {
      const own = () => listener();
      listeners.add(own);
      return () => void listeners.delete(own);
    },
    loadMore: async () => (await load).loadMore(),
    close() {
      if (list !== undefined) return list.close();
      snapshot = { ...snapshot, status: 'closed' };
      notify();
    },
  };
}

/**
 * Creates the realtime part of a client. Its code is loaded when it is first used, because many clients never use it. Therefore errors that
 * `createRealtime` throws are reported like refusals of the server.
 */
export function createLazyRealtime(requester: Requester, tokens: SessionSource): Realtime {
  let loading: Promise<Realtime> | undefined;
  const create = async () => (await import('./index.ts')).createRealtime(requester, tokens);
  function load(): Promise<Realtime> {
    loading ??= create();
    // A lost connection must not prevent the next attempt.
    loading.catch(() => {
      loading = undefined;
    });
    return loading;
  }

  return {
    subscribe(path, subscription, handlers) {
      let stop: (() => void) | undefined;
      let isStopped = false;
      load()
        .then((realtime) => {
          if (!isStopped) stop = realtime.subscribe(path, subscription, handlers);
        })
        .catch((error) => {
          if (!isStopped) handlers.onError?.(error);
        });
      return () => {
        isStopped = true;
        stop?.();
      };
    },
    async *events(path, subscription, options) {
      yield* (await load()).events(path, subscription, options);
    },
    liveList: <Data>(path: string, query?: LiveListQuery) =>
      createPendingList<Data>(load().then((realtime) => realtime.liveList<Data>(path, query))),
  };
}
