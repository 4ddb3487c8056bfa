import { hash } from 'node:crypto';
import type { PushContent } from '../../message.ts';
import type { SendContext } from '../../transport.ts';
import { LONGEST_TTL_SECONDS, secondsLeft } from '../failure.ts';

/** What a push service must take (RFC 8030, 7.2), and what most take: bytes of the encrypted body. */
export const WEB_PUSH_LIMIT_BYTES = 4096;

/** What encryption adds (RFC 8188, 8291): salt 16, record size 4, length of the key 1, the key 65, delimiter 1, tag 16. */
const ENCRYPTION_BYTES = 103;

const TOPIC = /^[A-Za-z0-9]{1,32}$/;

/** Why browsers cannot be sent a message, or undefined. */
export function webPushRefusal({ silent }: PushContent): string | undefined {
  return silent
    ? 'browsers take a subscription back that shows nothing, so silent messages do not go to them'
    : undefined;
}

/**
 * What the page's service worker gets, as JSON. `tag` is there always, so that a duplicate replaces itself on the screen.
 *
 * @param pushId id of the push, which the page reports when the notification is opened
 */
export function webPushPayload(message: PushContent, pushId: string): string {
  const { title, body, image, icon, url, badge, group, collapseId, sound, data } = message;
  const silent = sound === false ? true : undefined;
  return JSON.stringify({
    pushId,
    ...{ title, body, image, icon, url, badge, group },
    tag: collapseId ?? pushId,
    ...{ silent, data },
  });
}

/** Bytes of a message on its way. */
export function webPushSize(message: PushContent, pushId: string): number {
  return Buffer.byteLength(webPushPayload(message, pushId)) + ENCRYPTION_BYTES;
}

/** A Topic has 32 characters of base64url: https://www.rfc-editor.org/rfc/rfc8030#section-5.4 */
function topicOf(collapseId: string): string {
  return TOPIC.test(collapseId) ? collapseId : hash('sha256', collapseId).slice(0, 32);
}

/** The headers that a push service reads of a message, in the library's words. */
export function webPushOptions(message: PushContent, context: SendContext) {
  const { priority, collapseId } = message;
  return {
    TTL: secondsLeft(message, context) ?? LONGEST_TTL_SECONDS,
    urgency: priority,
    ...(collapseId === undefined ? {} : { topic: topicOf(collapseId) }),
  };
}
