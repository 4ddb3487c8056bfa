import type { VisibleChange } from './visible-change.ts';

/** A server-sent event without its id (https://html.spec.whatwg.org/multipage/server-sent-events.html). JSON has no line breaks. */
function block(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** A server-sent event on its way to streams. */
export interface Frame {
  /** Of the entry that it tells of. */
  id: string;
  text: string;
}

/** @param subscription as the client wrote it */
export function changeFrame({ change, action, data, previous }: VisibleChange, subscription: string): Frame {
  const { id, eventId, at, gateway, record } = change;
  const told = { subscription, event: eventId, at, id: record.id, data, previous };
  return { id, text: block(`${gateway.name}.${action}`, told) };
}

/**
 * Frames, in the order of their entries, as bytes. Of several that tell of the same entry only the last has the id: a client that
 * got some of them gets all of them again.
 */
export function bytesOf(frames: readonly Frame[]): Buffer {
  return Buffer.from(
    frames.map(({ id, text }, i) => (frames[i + 1]?.id === id ? text : `id: ${id}\n${text}`)).join(''),
  );
}

/** From here on nothing is left out. */
export const readyFrame = (id: string, heartbeatSeconds: number) =>
  Buffer.from(`id: ${id}\n${block('ready', { heartbeatSeconds })}`);

/** Some changes may have been left out. */
export const resetFrame = (id: string) => Buffer.from(`id: ${id}\n${block('reset', {})}`);

/** A sign of life. The id moves on while nothing is told, so that a client can come back after long silence. */
export const heartbeatFrame = (id: string) => Buffer.from(`id: ${id}\n${block('heartbeat', {})}`);

/** Why a stream ends: the user is signed out, disabled or gone; roles or rights were taken away; the process stops. */
export type EndReason = 'signed_out' | 'access_changed' | 'shutdown';

/** @param retryMs after which it is worth coming back */
export const endFrame = (reason: EndReason, retryMs: number) =>
  Buffer.from(`retry: ${retryMs}\n${block('end', { reason })}`);
