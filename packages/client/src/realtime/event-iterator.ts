import type { SubscriptionHub } from './hub.ts';
import type { RecordChange, RecordSubscription, ResetReason } from './record-change.ts';

/** Stands for events that may be missing. */
export interface ResetEvent {
  readonly type: 'reset';
  readonly reason: ResetReason | 'too_slow';
}

/** The options of an iteration over events. */
export interface EventsOptions extends RecordSubscription {
  /** Ends the iteration: it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** The number of events that wait for a slow loop. With more, they are dropped and replaced by a `reset`. Default 1000. */
  maxWaiting?: number | undefined;
}

const MAX_WAITING = 1000;

/**
 * Iterates over the events of a subscription, from the first step on. Leaving the loop ends the subscription.
 *
 * @throws ApiError if the server refuses the subscription
 */
export async function* iterateEvents<Data>(
  hub: Pick<SubscriptionHub, 'subscribe'>,
  path: string,
  { signal, maxWaiting = MAX_WAITING, ...subscription }: EventsOptions,
): AsyncGenerator<RecordChange<Data> | ResetEvent, void, undefined> {
  let waiting: (RecordChange<Data> | ResetEvent)[] = [];
  let failure: { error: unknown } | undefined;
  let wake = (): void => undefined;
  const add = (event: RecordChange<Data> | ResetEvent) => {
    if (waiting.length >= maxWaiting) waiting = [{ type: 'reset', reason: 'too_slow' }];
    else waiting.push(event);
    wake();
  };
  const fail = (error: unknown) => {
    failure = { error };
    wake();
  };
  const abort = () => fail(signal!.reason);
  signal?.throwIfAborted();
  signal?.addEventListener('abort', abort);
  const stop = hub.subscribe(path, subscription, {
    onEvent: (event) => add(event as RecordChange<Data>),
    onReset: (reason) => add({ type: 'reset', reason }),
    onError: fail,
    onReady: () => undefined,
    onDisconnect: () => undefined,
  });
  try {
    for (;;) {
      while (waiting.length > 0) {
        const events = waiting;
        waiting = [];
        for (const event of events) {
          signal?.throwIfAborted();
          yield event;
        }
      }
      if (failure !== undefined) throw failure.error;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    stop();
    signal?.removeEventListener('abort', abort);
  }
}
