import { callListener } from './listeners.ts';
import type { RecordChange, ResetReason } from './record-change.ts';

/** Receives what happens to a subscription. */
export interface SubscriptionListener {
  onEvent(event: RecordChange): void;
  /** From here on, every change is delivered. Called again after each lost connection. */
  onReady(): void;
  /** Events may be missing: load the data again. */
  onReset(reason: ResetReason): void;
  /** The connection is lost. It is opened again, which `onReady` reports. */
  onDisconnect(): void;
  /** The server has refused the subscription. It is tried again after a change of the session. */
  onError(error: unknown): void;
}

/** A subscription of the server, shared by all listeners that asked for the same one. */
export interface Topic {
  readonly text: string;
  /** The path of the only record; undefined for a list. */
  readonly recordPath: string | undefined;
  readonly listeners: ReadonlySet<SubscriptionListener>;
  readonly state: 'pending' | 'ready' | 'refused';
  add(listener: SubscriptionListener): void;
  remove(listener: SubscriptionListener): void;
  /** Delivers an event, unless it was delivered before. A new topic gets no events from before its first `ready`. */
  deliver(event: RecordChange): void;
  setReady(): void;
  disconnect(): void;
  refuse(error: unknown): void;
  /** @param isRestarted whether the subscription begins anew, so that events until the next `ready` are of no use */
  reset(reason: ResetReason, isRestarted: boolean): void;
}

/** The number of event ids that are remembered: more than can arrive twice while one connection replaces another. */
const MAX_REMEMBERED_EVENTS = 2000;

/** Creates a topic without listeners. */
export function createTopic(text: string, recordPath: string | undefined): Topic {
  const listeners = new Set<SubscriptionListener>();
  /** In the order of arrival, so that the oldest ones are forgotten first. */
  const delivered = new Set<string>();
  let state: Topic['state'] = 'pending';
  let refusal: unknown;

  const callAll = (call: (listener: SubscriptionListener) => void) => {
    for (const listener of [...listeners]) if (listeners.has(listener)) callListener(() => call(listener));
  };

  function isRepeated(id: string): boolean {
    if (delivered.has(id)) return true;
    delivered.add(id);
    if (delivered.size > MAX_REMEMBERED_EVENTS) delivered.delete(delivered.values().next().value!);
    return false;
  }

  return {
    text,
    recordPath,
    listeners,
    get state() {
      return state;
    },
    add(listener) {
      listeners.add(listener);
      // The state is reported as to the first listener: after the call that subscribes has returned.
      queueMicrotask(() => {
        if (!listeners.has(listener)) return;
        if (state === 'ready') callListener(() => listener.onReady());
        if (state === 'refused') callListener(() => listener.onError(refusal));
      });
    },
    remove: (listener) => void listeners.delete(listener),
    deliver(event) {
      if (state === 'ready' && !isRepeated(event.event)) callAll((listener) => listener.onEvent(event));
    },
    setReady() {
      state = 'ready';
      callAll((listener) => listener.onReady());
    },
    disconnect: () => callAll((listener) => listener.onDisconnect()),
    refuse(error) {
      [state, refusal] = ['refused', error];
      callAll((listener) => listener.onError(error));
    },
    reset(reason, isRestarted) {
      if (isRestarted) state = 'pending';
      callAll((listener) => listener.onReset(reason));
    },
  };
}
