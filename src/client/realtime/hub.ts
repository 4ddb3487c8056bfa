import { ApiError } from '../request/errors.ts';
import type { Requester, TokenSource } from '../request/request.ts';
import { type RecordSubscription, subscriptionText } from './record-event.ts';
import { createStream, type Stream } from './stream.ts';
import { createTopic, type SubscriptionListener, type Topic } from './topic.ts';

/** What a session tells about itself. */
interface SessionIdentity {
  readonly user: { readonly id: string };
}

/** The session of a client: the source of tokens, and if it can change, the way to learn about that. */
export interface SessionSource extends TokenSource {
  /** The current session, as far as its user is known. */
  readonly session?: SessionIdentity | undefined;
  /** Calls the listener after each change of the session. Returns a function that stops this. */
  subscribe?(listener: (session: SessionIdentity | undefined) => void): () => void;
}

/** The subscriptions of a client. */
export interface SubscriptionHub {
  /**
   * Subscribes to records. Equal subscriptions share one of the server.
   *
   * @returns an unsubscribe function
   * @throws TypeError for a filter or an id that cannot be sent
   */
  subscribe(path: string, subscription: RecordSubscription, listener: SubscriptionListener): () => void;
}

/** The default `maxSubscriptions` of the server. */
const MAX_TOPICS = 20;
/** The longest subscription that the server accepts. */
const MAX_TEXT_LENGTH = 4000;
/** Servers and proxies accept addresses of at least 8,000 characters. Each text is encoded once more in the address. */
const MAX_TEXTS_LENGTH = 5000;
/** Components often subscribe one after the other. They share one opening of the stream. */
const ADD_DELAY_MS = 50;
/** A component that remounts often resubscribes at once. */
const REMOVE_DELAY_MS = 1000;

const textLength = (topics: readonly Topic[]) =>
  topics.reduce((sum, { text }) => sum + encodeURIComponent(text).length, 0);

/** The error for an app without realtime: the server only says that it has no such route. */
function explainMissingRoute(error: ApiError): ApiError {
  const message = 'The app has no route /api/realtime. Add the extension realtime()';
  return new ApiError({ ...error, message, cause: error });
}

/** Creates the hub of a client. It opens streams while there are subscriptions. */
export function createSubscriptionHub(requester: Requester, tokens: SessionSource): SubscriptionHub {
  const topics = new Map<string, Topic>();
  const streams = new Set<Stream>();
  let maxTopics = MAX_TOPICS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let dueAt = Number.POSITIVE_INFINITY;
  let stopWatching: (() => void) | undefined;
  /** The session that the streams were opened for. */
  let session: { token: string | undefined; userId: string | undefined } | undefined;
  let userId: string | undefined;

  function schedule(delayMs: number): void {
    const at = Date.now() + delayMs;
    if (at >= dueAt) return;
    clearTimeout(timer);
    dueAt = at;
    timer = setTimeout(assignTopics, delayMs);
  }

  function hasRoom(list: readonly Topic[], topic: Topic): boolean {
    return list.length < maxTopics && textLength([...list, topic]) <= MAX_TEXTS_LENGTH;
  }

  /** Gives each topic a stream, and opens, changes and closes streams accordingly. */
  function assignTopics(): void {
    dueAt = Number.POSITIVE_INFINITY;
    for (const [text, topic] of topics) if (topic.listeners.size === 0) topics.delete(text);
    const isWanted = (topic: Topic) => topic.state !== 'refused' && topics.get(topic.text) === topic;
    const lists = new Map<Stream, Topic[]>();
    for (const stream of streams) lists.set(stream, stream.topics.filter(isWanted).slice(0, maxTopics));
    const assigned = new Set([...lists.values()].flat());
    for (const topic of topics.values()) {
      if (assigned.has(topic) || !isWanted(topic)) continue;
      // Another stream does not know which events this topic has missed meanwhile.
      if (topic.state === 'ready') topic.reset('missed', true);
      const free = [...lists].find(([, list]) => hasRoom(list, topic));
      if (free !== undefined) free[1].push(topic);
      else lists.set(createStream(host), [topic]);
    }
    for (const [stream, list] of lists) {
      if (list.length > 0) {
        streams.add(stream);
        stream.setTopics(list);
      } else {
        stream.close();
        streams.delete(stream);
      }
    }
    if (topics.size === 0) stop();
  }

  function stop(): void {
    stopWatching?.();
    [stopWatching, session] = [undefined, undefined];
  }

  function start(): void {
    userId = tokens.session?.user.id;
    const stopWakeUps = watchWakeUps(() => {
      for (const stream of streams) stream.wake();
    });
    const unsubscribe = tokens.subscribe?.((changed) => {
      userId = changed?.user.id;
      // A source whose storage fails is asked again when a stream opens.
      confirmSession().catch(() => undefined);
    });
    stopWatching = () => {
      stopWakeUps();
      unsubscribe?.();
    };
  }

  /** Begins anew for another user: nothing of the old session must remain, and refused topics may be allowed now. */
  function restart(): void {
    for (const stream of streams) stream.close();
    streams.clear();
    for (const topic of topics.values()) topic.reset('session_changed', true);
    schedule(0);
  }

  async function confirmSession(): Promise<boolean> {
    const token = await tokens.getToken();
    const before = session;
    session = { token, userId };
    if (before === undefined) return true;
    // The user of a session may become known after its token. Without a token, only the user tells sessions apart.
    if (before.token === token && (token !== undefined || before.userId === userId)) return true;
    restart();
    return false;
  }

  function refuse(stream: Stream, refused: readonly Topic[], error: ApiError): void {
    for (const topic of refused) topic.refuse(error);
    schedule(0);
    if (stream.topics.some(({ state }) => state !== 'refused')) return;
    stream.close();
    streams.delete(stream);
  }

  const host = {
    requester,
    confirmSession,
    onRefused(stream: Stream, requested: readonly Topic[], error: ApiError): void {
      if (!streams.has(stream)) return;
      const named = requested.filter((_, i) => Object.hasOwn(error.details, `subscribe.${i}`));
      const isTooMuch = error.status === 400 || error.status === 414 || error.status === 431;
      if (named.length > 0) refuse(stream, named, error);
      else if (isTooMuch && requested.length > 1) {
        // The server allows fewer subscriptions in one stream. The ones that are open fit.
        maxTopics = Math.max(stream.openTopics, Math.floor(requested.length / 2));
        schedule(0);
      } else {
        refuse(stream, requested, error.status === 404 ? explainMissingRoute(error) : error);
        // The session may have ended with this response.
        if (error.status === 401) confirmSession().catch(() => undefined);
      }
    },
  };

  return {
    subscribe(path, subscription, listener) {
      const text = subscriptionText(path, subscription);
      if (text.length > MAX_TEXT_LENGTH)
        throw new TypeError(`A subscription can have at most ${MAX_TEXT_LENGTH} characters`);
      if (topics.size === 0 && stopWatching === undefined) start();
      const known = topics.get(text);
      const recordPath = subscription.id === undefined ? undefined : text.split('?', 1)[0];
      // A refused topic is tried again for a new listener.
      const topic = known === undefined || known.state === 'refused' ? createTopic(text, recordPath) : known;
      if (topic !== known) for (const one of known?.listeners ?? []) topic.add(one);
      topics.set(text, topic);
      topic.add(listener);
      schedule(ADD_DELAY_MS);
      return () => {
        // A refused topic may have been replaced meanwhile.
        topics.get(text)?.remove(listener);
        topic.remove(listener);
        schedule(REMOVE_DELAY_MS);
      };
    },
  };
}

/** What browsers add to the global scope. */
interface BrowserGlobals {
  addEventListener?(type: string, listener: () => void): void;
  removeEventListener?(type: string, listener: () => void): void;
  document?: { readonly visibilityState: string } & Required<
    Pick<BrowserGlobals, 'addEventListener' | 'removeEventListener'>
  >;
}

/**
 * Calls `wake` when the device may have been asleep or offline: it is online again, or its user has returned to the page. Elsewhere than in
 * browsers, this does nothing.
 *
 * @returns a function that stops the watch
 */
export function watchWakeUps(wake: () => void): () => void {
  const globals = globalThis as BrowserGlobals;
  const { document } = globals;
  const wakeIfVisible = () => {
    if (document?.visibilityState === 'visible') wake();
  };
  globals.addEventListener?.('online', wake);
  document?.addEventListener('visibilitychange', wakeIfVisible);
  return () => {
    globals.removeEventListener?.('online', wake);
    document?.removeEventListener('visibilitychange', wakeIfVisible);
  };
}
