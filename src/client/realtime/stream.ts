import { ApiError } from '../request/errors.ts';
import type { Requester } from '../request/request.ts';
import { type Connection, isTemporary, openConnection } from './connection.ts';
import type { ServerSentEvent } from './event-parser.ts';
import { parseRecordEvent, type ResetReason } from './record-event.ts';
import type { Topic } from './topic.ts';

/** What the streams of a client need from it. */
export interface StreamHost {
  requester: Requester;
  /** Returns whether the session is still the one that the streams were opened for. If not, all streams begin anew. */
  confirmSession(): Promise<boolean>;
  /** The server has refused a stream with these topics; nothing of it was opened. */
  onRefused(stream: Stream, topics: readonly Topic[], error: ApiError): void;
}

/** The connection of some topics. It is opened again whenever it is lost. */
export interface Stream {
  readonly topics: readonly Topic[];
  /** The number of topics of the connection that is open now. */
  readonly openTopics: number;
  /** Replaces the topics. The open connection stays until the new one is ready, so that no event is lost. */
  setTopics(topics: readonly Topic[]): void;
  /** Checks the connection at once, after the computer has slept or was offline. */
  wake(): void;
  close(): void;
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

/** Creates a stream without topics. */
export function createStream(host: StreamHost): Stream {
  let topics: readonly Topic[] = [];
  /** The channel that delivers. */
  let current: Channel | undefined;
  /** The channel that is to replace the current one. */
  let opening: Channel | undefined;
  let lastEventId: string | undefined;
  let failures = 0;
  let retryMs = FIRST_RETRY_MS;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isClosed = false;
  let isConfirming = false;
  /** Set if the next `ready` begins a new count of events. */
  let resetAtReady: ResetReason | undefined;

  const isOpen = (channel: Channel) => !isClosed && (channel === current || channel === opening);

  function resetTopics(reason: ResetReason, { topics: some }: Channel): void {
    for (const topic of some) if (topic.state === 'ready') topic.reset(reason, false);
  }

  function becomeReady(channel: Channel, { id, data }: ServerSentEvent): void {
    const seconds = Number(JSON.parse(data).heartbeatSeconds);
    if (seconds > 0) {
      channel.heartbeatMs = seconds * 1000;
      channel.connection.setSilenceLimit(2 * channel.heartbeatMs + HEARTBEAT_GRACE_MS);
    }
    if (channel === opening) {
      current?.connection.close();
      [current, opening] = [channel, undefined];
    }
    lastEventId = id;
    failures = 0;
    if (resetAtReady !== undefined) resetTopics(resetAtReady, channel);
    resetAtReady = undefined;
    for (const topic of channel.topics) if (topic.state !== 'refused') topic.setReady();
  }

  function receive(channel: Channel, message: ServerSentEvent): void {
    const { event: name, data, id } = message;
    if (name === 'ready') becomeReady(channel, message);
    else if (name === 'end') channel.endReason = JSON.parse(data).reason;
    else if (name === 'reset') resetTopics('missed', channel);
    else {
      const found = parseRecordEvent(message);
      channel.topics.find(({ text }) => text === found?.subscription)?.deliver(found!.event);
    }
    // While another channel delivers, this one is behind it.
    if (id !== '' && (channel === current || current === undefined)) lastEventId = id;
  }

  function handleEvent(channel: Channel, message: ServerSentEvent): void {
    if (!isOpen(channel)) return;
    try {
      receive(channel, message);
    } catch (error) {
      if (!(error instanceof SyntaxError) && !(error instanceof TypeError)) throw error;
      // A malformed event may have been any change.
      resetTopics('missed', channel);
    }
  }

  /** @param leastMs the shortest delay that the server allows */
  function scheduleRetry(leastMs = 0): void {
    clearTimeout(timer);
    const longest = Math.min(MAX_RETRY_MS, retryMs * 2 ** Math.min(failures, 10));
    failures += 1;
    timer = setTimeout(connect, Math.max(leastMs, longest * (0.5 + Math.random() / 2)));
  }

  function handleClosed(channel: Channel, error: unknown): void {
    if (!isOpen(channel)) return;
    const wasCurrent = channel === current;
    if (wasCurrent) current = undefined;
    else opening = undefined;
    if (channel.endReason === 'access_changed') {
      // The records that the user may see are others now, and no event says which ones.
      [lastEventId, resetAtReady] = [undefined, 'access_changed'];
    }
    if (wasCurrent) for (const topic of channel.topics) if (topic.state === 'ready') topic.disconnect();
    // The other channel takes over.
    if (opening !== undefined) return;
    if (error instanceof ApiError && !isTemporary(error)) host.onRefused(api, channel.topics, error);
    else scheduleRetry(error instanceof ApiError ? error.retryAfterMs : undefined);
  }

  /** New record topics of a resumed connection are checked apart: the server does not check whether their records exist. */
  function checkRecord(topic: Topic): void {
    const query = { fields: 'id' };
    host.requester.send({ method: 'GET', path: topic.recordPath!, query }).catch((error) => {
      const isRefusal = error instanceof ApiError && !isTemporary(error) && error.status !== 401;
      if (isRefusal && !isClosed && topics.includes(topic)) host.onRefused(api, [topic], error);
    });
  }

  async function connect(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (isConfirming || isClosed) return;
    isConfirming = true;
    try {
      if (!(await host.confirmSession()) || isClosed) return;
    } catch {
      // The storage of the session cannot be read now.
      return scheduleRetry();
    } finally {
      isConfirming = false;
    }
    opening?.connection.close();
    const wanted = topics;
    if (lastEventId !== undefined)
      for (const topic of wanted) if (topic.recordPath !== undefined && topic.state === 'pending') checkRecord(topic);
    const subscriptions = wanted.map(({ text }) => text);
    const connection = openConnection(
      host.requester,
      { subscriptions, lastEventId },
      {
        onEvent: (message) => handleEvent(channel, message),
        onOversized: () => isOpen(channel) && resetTopics('missed', channel),
        onRetry: (ms) => {
          retryMs = Math.max(100, Math.min(ms, MAX_RETRY_MS));
        },
        onClosed: (error) => handleClosed(channel, error),
      },
    );
    const channel: Channel = { topics: wanted, connection, heartbeatMs: undefined, endReason: undefined };
    opening = channel;
  }

  function hasTopics(channel: Channel | undefined, wanted: readonly Topic[]): boolean {
    return channel?.topics.length === wanted.length && wanted.every((topic) => channel.topics.includes(topic));
  }

  const api: Stream = {
    get topics() {
      return topics;
    },
    get openTopics() {
      return current?.topics.length ?? 0;
    },
    setTopics(next) {
      topics = next;
      if (opening !== undefined ? hasTopics(opening, next) : hasTopics(current, next)) return;
      if (opening !== undefined && hasTopics(current, next)) {
        opening.connection.close();
        opening = undefined;
        return;
      }
      // A server that asked for a pause gets it, unless nothing was open before.
      if (timer === undefined || failures === 0) void connect();
    },
    wake() {
      if (timer !== undefined) void connect();
      else if (current !== undefined && current.connection.silentMs() > 1.25 * (current.heartbeatMs ?? Infinity)) {
        current.connection.close();
        for (const topic of current.topics) if (topic.state === 'ready') topic.disconnect();
        current = undefined;
        if (opening === undefined) void connect();
      }
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
      current?.connection.close();
      opening?.connection.close();
      [current, opening] = [undefined, undefined];
    },
  };
  return api;
}
