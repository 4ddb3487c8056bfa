import type { CountMode } from '../schema/declarations.ts';
import type { Selection, SortTerm, Where } from '../schema/query.ts';
import type { ClientRecord, FieldName, IncludePath } from '../schema/record.ts';
import type { EventsOptions, ResetEvent } from './event-iterator.ts';
import type { SubscribeHandlers } from './index.ts';
import type { LiveList } from './live-list.ts';
import type { RecordChange } from './record-change.ts';

/** The records to which a client subscribes: those that a list with these filters returns, or one record. */
interface TypedSubscription<Api, Key extends keyof Api> {
  where?: Where<Api, Key> | undefined;
  /** The id of the record, for a subscription to one record. */
  id?: string | undefined;
}

/** The methods of a resource that follow the changes of its records. The app needs the extension `realtime()`. */
export interface RealtimeMethods<Api, Key extends keyof Api> {
  /**
   * Subscribes to the changes of records. Returns an unsubscribe function.
   *
   * @example const stop = client.posts.subscribe({ where: { status: 'published' } }, { onEvent: ({ type, data }) => {} })
   */
  subscribe(subscription: TypedSubscription<Api, Key>, handlers: SubscribeHandlers<ClientRecord<Api, Key>>): () => void;
  /**
   * Iterates over the changes of records. Leaving the loop ends the subscription.
   *
   * @param options as of other methods; they may also stand in `subscription`
   * @throws ApiError if the server refuses the subscription
   * @example for await (const event of client.posts.events({ id }, { signal })) if (event.type === 'deleted') break;
   */
  events(
    subscription?: TypedSubscription<Api, Key> & Pick<EventsOptions, 'signal' | 'maxWaiting'>,
    options?: Pick<EventsOptions, 'signal' | 'maxWaiting'>,
  ): AsyncGenerator<RecordChange<ClientRecord<Api, Key>> | ResetEvent, void, undefined>;
  /**
   * Creates a list that follows the changes of its records. It needs `close()` in the end.
   *
   * @example const live = client.posts.liveList({ sort: '-createdAt', limit: 20 }); live.subscribe(() => show(live.data));
   */
  liveList<const Paths extends IncludePath<Api, Key> = never, const Names extends FieldName<Api, Key> = never>(
    query?: Selection<Paths, Names> & {
      where?: Where<Api, Key> | undefined;
      /** Finds records that contain the text in a searchable field. */
      q?: string | undefined;
      /** The order. Default `-createdAt`. */
      sort?: readonly SortTerm<Api, Key>[] | SortTerm<Api, Key> | undefined;
      /** The number of records, and of those that `loadMore` adds. Default 20. */
      limit?: number | undefined;
      /** How the total is counted. */
      count?: CountMode | undefined;
    },
  ): LiveList<ClientRecord<Api, Key, Paths, Names>>;
}
