import type { VisibleChange } from '../fan-out/visible-change.ts';

/** A server-sent event without its id (https://html.spec.whatwg.org/multipage/server-sent-events.html). JSON has no line breaks. */
function formatEvent(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A server-sent event for streams. */
export interface Frame {
  /** The id of its entry. */
  id: string;
  text: string;
}

/** @param subscription as the client wrote it */
export function changeFrame({ change, action, data, previous }: VisibleChange, subscription: string): Frame {
  const { id, eventId, at, gateway, record } = change;
  const payload = { subscription, event: eventId, at, id: record.id, data, previous };
  return { id, text: formatEvent(`${gateway.name}.${action}`, payload) };
}

/**
 * Encodes frames, which are in the order of their entries. If an entry has several frames, only the last one has the id, so that a client
 * that disconnects between them gets all of them again.
 */
export function encodeFrames(frames: readonly Frame[]): Buffer {
  return Buffer.from(
    frames.map(({ id, text }, i) => (frames[i + 1]?.id === id ? text : `id: ${id}\n${text}`)).join(''),
  );
}

/** Tells the client that the stream is complete from here on. */
export const readyFrame = (id: string, heartbeatSeconds: number) =>
  Buffer.from(`id: ${id}\n${formatEvent('ready', { heartbeatSeconds })}`);

/** Tells the client that some changes may be missing. */
export const resetFrame = (id: string) => Buffer.from(`id: ${id}\n${formatEvent('reset', {})}`);

/** A heartbeat. Its id advances even without changes, so that a client can resume after a long silence. */
export const heartbeatFrame = (id: string) => Buffer.from(`id: ${id}\n${formatEvent('heartbeat', {})}`);

/** Why a stream ends: the user is signed out, disabled or deleted; lost a role or right; or the process stops. */
export type EndReason = 'signed_out' | 'access_changed' | 'shutdown';

/** @param retryMs the delay after which the client should reconnect */
export const endFrame = (reason: EndReason, retryMs: number) =>
  Buffer.from(`retry: ${retryMs}\n${formatEvent('end', { reason })}`);
