import { ApiError } from '../request/errors.ts';
import type { Requester } from '../request/request.ts';
import { type Connection, isTemporary, openConnection } from './connection.ts';
import type { ServerSentEvent } from './event-parser.ts';
import { parseRecordEvent, type ResetReason } from './record-change.ts';
import type { Topic } from './topic.ts';

/** What the streams of a client need from it. */
export interface StreamHost {
  requester: Requester;
  /** Returns whether the session is still the one that the streams were opened for. If not, all streams begin anew. */
  confirmSession(): Promise<boolean>;
  /** The server has refused a stream with these topics; nothing of it was opened. */
  onRefused(stream: Stream, topics: readonly Topic[], error: ApiError): void;
}

const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;
/** Time for a heartbeat to arrive, in addition to two periods. */
const HEARTBEAT_GRACE_MS = 1000;

/** A response of the server and the topics that it was requested for. */
interface Channel {
  topics: readonly Topic[];
  connection: Connection;
  /** ms between heartbeats; undefined before `ready`. */
  heartbeatMs: number | undefined;
  endReason: string | undefined;
}

const hasTopics = ({ topics }: Channel, wanted: readonly Topic[]) =>
  topics.length === wanted.length && wanted.every((topic) => topics.includes(topic));

function resetReadyTopics({ topics }: Channel, reason: ResetReason): void {
  for (const topic of topics) if (topic.state === 'ready') topic.reset(reason, false);
}

function disconnectReadyTopics({ topics }: Channel): void {
  for (const topic of topics) if (topic.state === 'ready') topic.disconnect();
}

/** The connection of some topics. It is opened again whenever it is lost. */
export class Stream {
  readonly #host: StreamHost;
  #topics: readonly Topic[] = [];
  /** The channel that delivers. */
  #current: Channel | undefined;
  /** The channel that is to replace the current one. */
  #opening: Channel | undefined;
  #lastEventId: string | undefined;
  #failures = 0;
  #retryMs = FIRST_RETRY_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;
  #isConfirming = false;
  /** Set if the next `ready` begins a new count of events. */
  #resetAtReady: ResetReason | undefined;

  /** Creates a stream without topics. */
  constructor(host: StreamHost) {
    this.#host = host;
  }

  get topics(): readonly Topic[] {
    return this.#topics;
  }

  /** The number of topics of the connection that is open now. */
  get openTopics(): number {
    return this.#current?.topics.length ?? 0;
  }

  /** Replaces the topics. The open connection stays until the new one is ready, so that no event is lost. */
  setTopics(topics: readonly Topic[]): void {
    this.#topics = topics;
    const newest = this.#opening ?? this.#current;
    if (newest !== undefined && hasTopics(newest, topics)) return;
    if (this.#opening !== undefined && this.#current !== undefined && hasTopics(this.#current, topics)) {
      this.#opening.connection.close();
      this.#opening = undefined;
      return;
    }
    // A server that asked for a pause gets it, unless nothing was open before.
    if (this.#timer === undefined || this.#failures === 0) void this.#connect();
  }

  /** Checks the connection at once, after the computer has slept or was offline. */
  wake(): void {
    const current = this.#current;
    if (this.#timer !== undefined) void this.#connect();
    else if (current !== undefined && current.connection.silentMs() > 1.25 * (current.heartbeatMs ?? Infinity)) {
      current.connection.close();
      disconnectReadyTopics(current);
      this.#current = undefined;
      if (this.#opening === undefined) void this.#connect();
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#current?.connection.close();
    this.#opening?.connection.close();
    [this.#current, this.#opening] = [undefined, undefined];
  }

  async #connect(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isConfirming || this.#isClosed) return;
    this.#isConfirming = true;
    try {
      if (!(await this.#host.confirmSession()) || this.#isClosed) return;
    } catch {
      // The storage of the session cannot be read now.
      return this.#scheduleRetry();
    } finally {
      this.#isConfirming = false;
    }
    this.#opening?.connection.close();
    const topics = this.#topics;
    const lastEventId = this.#lastEventId;
    if (lastEventId !== undefined)
      for (const topic of topics)
        if (topic.recordPath !== undefined && topic.state === 'pending') this.#checkRecord(topic, topic.recordPath);
    const subscriptions = topics.map(({ text }) => text);
    const connection = openConnection(
      this.#host.requester,
      { subscriptions, lastEventId },
      {
        onEvent: (message) => this.#isOpen(channel) && this.#receive(channel, message),
        onOversized: () => this.#isOpen(channel) && resetReadyTopics(channel, 'missed'),
        onRetry: (ms) => {
          this.#retryMs = Math.max(100, Math.min(ms, MAX_RETRY_MS));
        },
        onClosed: (error) => this.#isOpen(channel) && this.#handleClosed(channel, error),
      },
    );
    const channel: Channel = { topics, connection, heartbeatMs: undefined, endReason: undefined };
    this.#opening = channel;
  }

  #isOpen(channel: Channel): boolean {
    return channel === this.#current || channel === this.#opening;
  }

  /** New record topics of a resumed connection are checked apart: the server does not check whether their records exist. */
  #checkRecord(topic: Topic, path: string): void {
    this.#host.requester.send({ method: 'GET', path, query: { fields: 'id' } }).catch((error) => {
      const isRefusal = error instanceof ApiError && !isTemporary(error) && error.status !== 401;
      if (isRefusal && !this.#isClosed && this.#topics.includes(topic)) this.#host.onRefused(this, [topic], error);
    });
  }

  #receive(channel: Channel, message: ServerSentEvent): void {
    try {
      this.#handleEvent(channel, message);
    } catch (error) {
      if (!(error instanceof SyntaxError) && !(error instanceof TypeError)) throw error;
      // A malformed event may have been any change.
      resetReadyTopics(channel, 'missed');
    }
  }

  #handleEvent(channel: Channel, message: ServerSentEvent): void {
    const { event: name, data, id } = message;
    if (name === 'ready') this.#becomeReady(channel, message);
    else if (name === 'end') channel.endReason = JSON.parse(data).reason;
    else if (name === 'reset') resetReadyTopics(channel, 'missed');
    else {
      const found = parseRecordEvent(message);
      channel.topics.find(({ text }) => text === found?.subscription)?.deliver(found!.event);
    }
    // While another channel delivers, this one is behind it.
    if (id !== '' && (channel === this.#current || this.#current === undefined)) this.#lastEventId = id;
  }

  #becomeReady(channel: Channel, { id, data }: ServerSentEvent): void {
    const seconds = Number(JSON.parse(data).heartbeatSeconds);
    if (seconds > 0) {
      channel.heartbeatMs = seconds * 1000;
      channel.connection.setSilenceLimit(2 * channel.heartbeatMs + HEARTBEAT_GRACE_MS);
    }
    if (channel === this.#opening) {
      this.#current?.connection.close();
      [this.#current, this.#opening] = [channel, undefined];
    }
    this.#lastEventId = id;
    this.#failures = 0;
    if (this.#resetAtReady !== undefined) resetReadyTopics(channel, this.#resetAtReady);
    this.#resetAtReady = undefined;
    for (const topic of channel.topics) if (topic.state !== 'refused') topic.setReady();
  }

  #handleClosed(channel: Channel, error: unknown): void {
    const wasCurrent = channel === this.#current;
    if (wasCurrent) this.#current = undefined;
    else this.#opening = undefined;
    if (channel.endReason === 'access_changed') {
      // The records that the user may see are others now, and no event says which ones.
      [this.#lastEventId, this.#resetAtReady] = [undefined, 'access_changed'];
    }
    if (wasCurrent) disconnectReadyTopics(channel);
    // The other channel takes over.
    if (this.#opening !== undefined) return;
    if (error instanceof ApiError && !isTemporary(error)) this.#host.onRefused(this, channel.topics, error);
    else this.#scheduleRetry(error instanceof ApiError ? error.retryAfterMs : undefined);
  }

  /** @param leastMs the shortest delay that the server allows */
  #scheduleRetry(leastMs = 0): void {
    clearTimeout(this.#timer);
    const longest = Math.min(MAX_RETRY_MS, this.#retryMs * 2 ** Math.min(this.#failures, 10));
    this.#failures += 1;
    this.#timer = setTimeout(() => void this.#connect(), Math.max(leastMs, longest * (0.5 + Math.random() / 2)));
  }
}
