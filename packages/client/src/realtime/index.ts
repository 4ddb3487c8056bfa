import type { Requester } from '../request/request.ts';
import { type EventsOptions, iterateEvents, type ResetEvent } from './event-iterator.ts';
import { type SessionSource, SubscriptionHub } from './hub.ts';
import type { LiveListQuery } from './list-source.ts';
import { createLiveList, type LiveList } from './live-list.ts';
import type { RecordChange, RecordSubscription, ResetReason } from './record-change.ts';

/** What to do with the changes of records. */
export interface SubscribeHandlers<Data> {
  onEvent?(event: RecordChange<Data>): void;
  /** Every change from here on is delivered: load the data that you display. Called again after each lost connection. */
  onReady?(): void;
  /** Events may be missing: load the data again. */
  onReset?(reason: ResetReason): void;
  /** The connection is lost, and is being opened again. */
  onDisconnect?(): void;
  /** The server has refused the subscription. It is tried again after a sign-in or sign-out. */
  onError?(error: unknown): void;
}

/** The parts of a client that follow changes. `path` is that of a resource: `/posts`. */
export interface Realtime {
  /**
   * Subscribes to changes. Returns an unsubscribe function.
   *
   * @throws TypeError for a filter or an id that cannot be sent
   */
  subscribe<Data>(path: string, subscription: RecordSubscription, handlers: SubscribeHandlers<Data>): () => void;
  /** Iterates over changes. Leaving the loop ends the subscription. */
  events<Data>(
    path: string,
    subscription?: EventsOptions,
    options?: EventsOptions,
  ): AsyncGenerator<RecordChange<Data> | ResetEvent, void, undefined>;
  /** Creates a list that follows changes. */
  liveList<Data>(path: string, query?: LiveListQuery): LiveList<Data>;
}

/**
 * Creates the realtime part of a client. It opens a stream with the first subscription.
 *
 * @param tokens the session; with `subscribe`, all streams begin anew when another user signs in
 */
export function createRealtime(requester: Requester, tokens: SessionSource): Realtime {
  const hub = new SubscriptionHub(requester, tokens);
  return {
    subscribe: (path, subscription, handlers) =>
      hub.subscribe(path, subscription, {
        onEvent: (event) => handlers.onEvent?.(event as never),
        onReady: () => handlers.onReady?.(),
        onReset: (reason) => handlers.onReset?.(reason),
        onDisconnect: () => handlers.onDisconnect?.(),
        onError: (error) => handlers.onError?.(error),
      }),
    events: (path, subscription, options) => iterateEvents(hub, path, { ...subscription, ...options }),
    liveList: (path, query = {}) => createLiveList(hub, requester, path, query),
  };
}
