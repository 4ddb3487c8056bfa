import { ApiError } from '../request/errors.ts';
import type { Requester, TokenSource } from '../request/request.ts';
import { type RecordSubscription, subscriptionText } from './record-change.ts';
import { Stream, type StreamHost } from './stream.ts';
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

/**
 * Distributes topics over streams: each stays where it is, and new ones go to the first stream with room.
 *
 * @param streams the wanted topics of each stream
 * @returns the topics of each stream, and of those to add
 */
export function assignTopics(
  streams: readonly (readonly Topic[])[],
  wanted: Iterable<Topic>,
  maxTopics: number,
): Topic[][] {
  const lists = streams.map((list) => list.slice(0, maxTopics));
  const assigned = new Set(lists.flat());
  for (const topic of wanted) {
    if (assigned.has(topic)) continue;
    const free = lists.find((list) => list.length < maxTopics && textLength([...list, topic]) <= MAX_TEXTS_LENGTH);
    if (free !== undefined) free.push(topic);
    else lists.push([topic]);
  }
  return lists;
}

/** The error for an app without realtime: the server only says that it has no such route. */
function explainMissingRoute(error: ApiError): ApiError {
  const message = 'The app has no route /api/realtime. Add the extension realtime()';
  return new ApiError({ ...error, message, cause: error });
}

/** The session that streams were opened for. */
interface StreamSession {
  token: string | undefined;
  userId: string | undefined;
}

/** Whether two sessions are the same. The user may become known after the token. Without a token, only the user tells sessions apart. */
const isSameSession = (a: StreamSession, b: StreamSession) =>
  a.token === b.token && (a.token !== undefined || a.userId === b.userId);

/** The subscriptions of a client. It opens streams while there are subscriptions. */
export class SubscriptionHub implements StreamHost {
  readonly requester: Requester;
  readonly #tokens: SessionSource;
  readonly #topics = new Map<string, Topic>();
  readonly #streams = new Set<Stream>();
  #maxTopics = MAX_TOPICS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueAt = Infinity;
  #stopWatching: (() => void) | undefined;
  /** The session that the streams were opened for. */
  #session: StreamSession | undefined;
  #userId: string | undefined;

  constructor(requester: Requester, tokens: SessionSource) {
    this.requester = requester;
    this.#tokens = tokens;
  }

  /**
   * Subscribes to records. Equal subscriptions share one of the server.
   *
   * @returns an unsubscribe function
   * @throws TypeError for a filter or an id that cannot be sent
   */
  subscribe(path: string, subscription: RecordSubscription, listener: SubscriptionListener): () => void {
    const text = subscriptionText(path, subscription);
    if (text.length > MAX_TEXT_LENGTH)
      throw new TypeError(`A subscription can have at most ${MAX_TEXT_LENGTH} characters`);
    if (this.#topics.size === 0 && this.#stopWatching === undefined) this.#start();
    const known = this.#topics.get(text);
    const recordPath = subscription.id === undefined ? undefined : text.split('?', 1)[0];
    // A refused topic is tried again for a new listener.
    const topic = known === undefined || known.state === 'refused' ? createTopic(text, recordPath) : known;
    if (topic !== known) for (const one of known?.listeners ?? []) topic.add(one);
    this.#topics.set(text, topic);
    topic.add(listener);
    this.#schedule(ADD_DELAY_MS);
    return () => {
      // A refused topic may have been replaced meanwhile.
      this.#topics.get(text)?.remove(listener);
      topic.remove(listener);
      this.#schedule(REMOVE_DELAY_MS);
    };
  }

  async confirmSession(): Promise<boolean> {
    const token = await this.#tokens.getToken();
    const before = this.#session;
    this.#session = { token, userId: this.#userId };
    if (before === undefined || isSameSession(before, this.#session)) return true;
    this.#restart();
    return false;
  }

  onRefused(stream: Stream, requested: readonly Topic[], error: ApiError): void {
    if (!this.#streams.has(stream)) return;
    const named = requested.filter((_, i) => Object.hasOwn(error.details, `subscribe.${i}`));
    const isTooMuch = error.status === 400 || error.status === 414 || error.status === 431;
    if (named.length > 0) this.#refuse(stream, named, error);
    else if (isTooMuch && requested.length > 1) {
      // The server allows fewer subscriptions in one stream. The ones that are open fit.
      this.#maxTopics = Math.max(stream.openTopics, Math.floor(requested.length / 2));
      this.#schedule(0);
    } else {
      this.#refuse(stream, requested, error.status === 404 ? explainMissingRoute(error) : error);
      // The session may have ended with this response.
      if (error.status === 401) this.confirmSession().catch(() => undefined);
    }
  }

  #refuse(stream: Stream, refused: readonly Topic[], error: ApiError): void {
    for (const topic of refused) topic.refuse(error);
    this.#schedule(0);
    if (stream.topics.some(({ state }) => state !== 'refused')) return;
    stream.close();
    this.#streams.delete(stream);
  }

  #schedule(delayMs: number): void {
    const at = Date.now() + delayMs;
    if (at >= this.#dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = at;
    this.#timer = setTimeout(() => this.#updateStreams(), delayMs);
  }

  /** Gives each topic a stream, and opens, changes and closes streams accordingly. */
  #updateStreams(): void {
    this.#dueAt = Infinity;
    for (const [text, topic] of this.#topics) if (topic.listeners.size === 0) this.#topics.delete(text);
    const wanted = new Set([...this.#topics.values()].filter(({ state }) => state !== 'refused'));
    const streams = [...this.#streams];
    const kept = streams.map(({ topics }) => topics.filter((topic) => wanted.has(topic)));
    const lists = assignTopics(kept, wanted, this.#maxTopics);
    for (const [i, list] of lists.entries()) {
      // Another stream does not know which events a topic has missed meanwhile.
      for (const topic of list) if (topic.state === 'ready' && !kept[i]?.includes(topic)) topic.reset('missed', true);
      const stream = streams[i] ?? new Stream(this);
      if (list.length > 0) {
        this.#streams.add(stream);
        stream.setTopics(list);
      } else {
        stream.close();
        this.#streams.delete(stream);
      }
    }
    if (this.#topics.size === 0) this.#stop();
  }

  #start(): void {
    this.#userId = this.#tokens.session?.user.id;
    const stopWakeUps = watchWakeUps(() => {
      for (const stream of this.#streams) stream.wake();
    });
    const unsubscribe = this.#tokens.subscribe?.((changed) => {
      this.#userId = changed?.user.id;
      // A source whose storage fails is asked again when a stream opens.
      this.confirmSession().catch(() => undefined);
    });
    this.#stopWatching = () => {
      stopWakeUps();
      unsubscribe?.();
    };
  }

  #stop(): void {
    this.#stopWatching?.();
    [this.#stopWatching, this.#session] = [undefined, undefined];
  }

  /** Begins anew for another user: nothing of the old session must remain, and refused topics may be allowed now. */
  #restart(): void {
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
    for (const topic of this.#topics.values()) topic.reset('session_changed', true);
    this.#schedule(0);
  }
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
