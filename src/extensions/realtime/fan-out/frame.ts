import type { VisibleChange } from '../fan-out/visible-change.ts';

/**
 * Formats a server-sent event without its id (https://html.spec.whatwg.org/multipage/server-sent-events.html). One `data` line is
 * enough, because JSON has no line breaks.
 */
function formatServerSentEvent(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A server-sent event about a change, not yet encoded. */
export interface Frame {
  /** The id of the Redis stream entry that contains the change. */
  id: string;
  text: string;
}

/** Creates the event about a change for one subscription. @param subscription the subscription as the client wrote it */
export function createChangeFrame({ change, action, data, previous }: VisibleChange, subscription: string): Frame {
  const { id, eventId, at, gateway, record } = change;
  const payload = { subscription, event: eventId, at, id: record.id, data, previous };
  return { id, text: formatServerSentEvent(`${gateway.name}.${action}`, payload) };
}

/**
 * Encodes frames, which are in the order of their Redis stream entries. If an entry has several frames, only the last of them has the
 * id, so that a client that disconnects before the last frame gets all frames of the entry again.
 */
export function encodeFrames(frames: readonly Frame[]): Buffer {
  return Buffer.from(
    frames.map(({ id, text }, i) => (frames[i + 1]?.id === id ? text : `id: ${id}\n${text}`)).join(''),
  );
}

/** Encodes the event that tells the client that it gets every change from here on. */
export const encodeReadyEvent = (id: string, heartbeatSeconds: number) =>
  Buffer.from(`id: ${id}\n${formatServerSentEvent('ready', { heartbeatSeconds })}`);

/** Encodes the event that tells the client that some changes may be missing. */
export const encodeResetEvent = (id: string) => Buffer.from(`id: ${id}\n${formatServerSentEvent('reset', {})}`);

/** Encodes a heartbeat. Its id advances even without changes, so that a client can resume after a long time without changes. */
export const encodeHeartbeatEvent = (id: string) => Buffer.from(`id: ${id}\n${formatServerSentEvent('heartbeat', {})}`);

/** Why a stream ends: the user is signed out, disabled or deleted; lost a role or right; or the process stops. */
export type EndReason = 'signed_out' | 'access_changed' | 'shutdown';

/** Encodes the last event of a stream. @param retryMs ms after which the client should reconnect */
export const encodeEndEvent = (reason: EndReason, retryMs: number) =>
  Buffer.from(`retry: ${retryMs}\n${formatServerSentEvent('end', { reason })}`);
