import { hash } from 'node:crypto';
import type { PushContent } from '../../message/message.ts';
import type { SendContext, TransportDevice } from '../../message/transport.ts';
import { getRemainingTtlSeconds, MAX_TTL_SECONDS } from '../failure.ts';

/** https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification */
export const APNS_LIMIT_BYTES = 4096;

const COLLAPSE_ID = /^[\x20-\x7e]{1,64}$/;

/** The headers of a notification. */
export interface ApnsHeaders {
  pushType: 'alert' | 'background';
  priority: 10 | 5;
  /** Epoch seconds until which APNs stores and retries the notification; 0: APNs tries once. */
  expiry: number;
  collapseId?: string;
}

/** Creates the `aps` dictionary, which iOS itself reads. For a silent notification it contains only `content-available`. */
export function toApsDictionary(message: PushContent): Record<string, unknown> {
  if (message.silent) return { 'content-available': 1 };
  const { title, subtitle, body, badge, sound, category, group, image } = message;
  return {
    alert: {
      ...(title === undefined ? {} : { title }),
      ...(subtitle === undefined ? {} : { subtitle }),
      ...(body === undefined ? {} : { body }),
    },
    ...(badge === undefined ? {} : { badge }),
    ...(sound === false ? {} : { sound }),
    ...(category === undefined ? {} : { category }),
    ...(group === undefined ? {} : { 'thread-id': group }),
    // Without this flag, iOS does not run the app's notification service extension, which loads the image.
    ...(image === undefined ? {} : { 'mutable-content': 1 }),
  };
}

/**
 * Creates the payload of a notification: `aps`, the message's data (including `url`), `image` for the app's extension, and `pushId`,
 * which the app reports when the notification is opened.
 *
 * @param pushId id of the push; a `pushId` in the message's data overrides it
 */
export function createApnsPayload(message: PushContent, pushId: string): Record<string, unknown> {
  const image = message.image === undefined || message.silent ? {} : { image: message.image };
  return { pushId, ...image, ...message.data, aps: toApsDictionary(message) };
}

/** Returns the reason why a message cannot be sent through APNs; otherwise undefined. */
export function apnsMessageError({ data }: PushContent): string | undefined {
  return data !== undefined && Object.hasOwn(data, 'aps') ? 'data.aps is reserved by APNs' : undefined;
}

/** Converts a collapse id to one that APNs accepts: at most 64 printable ASCII characters. */
function toApnsCollapseId(text: string): string {
  return COLLAPSE_ID.test(text) ? text : hash('sha256', text);
}

/** Creates the headers of a notification. A visible one always has a collapse id: a duplicate replaces the first notification. */
export function createApnsHeaders(message: PushContent, context: SendContext): ApnsHeaders {
  const left = getRemainingTtlSeconds(message, context) ?? MAX_TTL_SECONDS;
  const collapseId = message.collapseId ?? (message.silent ? undefined : context.id);
  return {
    pushType: message.silent ? 'background' : 'alert',
    // APNs refuses background notifications with another priority than 5.
    priority: message.silent || message.priority === 'normal' ? 5 : 10,
    expiry: left === 0 ? 0 : Math.floor(Date.now() / 1000) + left,
    ...(collapseId === undefined ? {} : { collapseId: toApnsCollapseId(collapseId) }),
  };
}

/** Returns the UUID for a push to a device, the same for every retry. Apple's console finds the notification by this UUID. */
export function createApnsId(pushId: string, { id, token }: TransportDevice): string {
  const hex = hash('sha256', `${pushId}\n${id ?? token}`);
  // Version 8 of RFC 9562, for custom UUIDs.
  const variant = ((Number.parseInt(hex[16]!, 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
