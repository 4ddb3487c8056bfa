import { hash } from 'node:crypto';
import type { PushContent } from '../../message/message.ts';
import type { SendContext } from '../../message/transport.ts';
import { getRemainingTtlSeconds, MAX_TTL_SECONDS } from '../failure.ts';

/** Maximum bytes of the encrypted body: the minimum that push services must accept (RFC 8030, 7.2), and the limit of most. */
export const WEB_PUSH_LIMIT_BYTES = 4096;

/** Bytes that encryption adds (RFC 8188, 8291): salt 16, record size 4, length of the key 1, the key 65, delimiter 1, tag 16. */
const ENCRYPTION_BYTES = 103;

const TOPIC = /^[A-Za-z0-9]{1,32}$/;

/** Returns the reason why a message cannot be sent to browsers; otherwise undefined. */
export function webPushMessageError({ silent }: PushContent): string | undefined {
  return silent
    ? 'browsers revoke the subscription of a page that shows no notification for a push, so silent messages are not sent'
    : undefined;
}

/**
 * Creates the JSON payload for the page's service worker. `tag` is always set: a duplicate replaces the first notification.
 *
 * @param pushId id of the push, which the page reports when the notification is opened
 */
export function createWebPushPayload(message: PushContent, pushId: string): string {
  const { title, body, image, icon, url, badge, group, collapseId, sound, data } = message;
  const silent = sound === false ? true : undefined;
  return JSON.stringify({
    pushId,
    ...{ title, body, image, icon, url, badge, group },
    tag: collapseId ?? pushId,
    ...{ silent, data },
  });
}

/** Returns the bytes of the encrypted body of a message. */
export function countWebPushBytes(message: PushContent, pushId: string): number {
  return Buffer.byteLength(createWebPushPayload(message, pushId)) + ENCRYPTION_BYTES;
}

/** Converts a collapse id to a Topic: at most 32 characters of base64url, https://www.rfc-editor.org/rfc/rfc8030#section-5.4 */
function toTopic(collapseId: string): string {
  return TOPIC.test(collapseId) ? collapseId : hash('sha256', collapseId).slice(0, 32);
}

/** Creates the options of the library that set the headers TTL, Urgency and Topic of a message. */
export function createWebPushOptions(message: PushContent, context: SendContext) {
  const { priority, collapseId } = message;
  return {
    TTL: getRemainingTtlSeconds(message, context) ?? MAX_TTL_SECONDS,
    urgency: priority,
    ...(collapseId === undefined ? {} : { topic: toTopic(collapseId) }),
  };
}
