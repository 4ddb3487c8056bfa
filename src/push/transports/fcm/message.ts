import type { TokenMessage } from 'firebase-admin/messaging';
import type { PushContent } from '../../message.ts';
import type { SendContext, TransportDevice } from '../../transport.ts';
import { apnsHeaders, apsOf } from '../apns/message.ts';
import { secondsLeft } from '../failure.ts';

/** https://firebase.google.com/docs/cloud-messaging/customize-messages/set-message-type */
export const FCM_LIMIT_BYTES = 4096;

/** https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages#Message.FIELDS.data */
const RESERVED_KEY = /^(from$|message_type$|collapse_key$|google\.|gcm\.)/;

/** A message of FCM, without the device that it goes to. */
export type FcmMessage = Omit<TokenMessage, 'token'>;

/** Why FCM cannot carry a message, or undefined. */
export function fcmRefusal({ data = {} }: PushContent): string | undefined {
  const key = Object.keys(data).find((name) => RESERVED_KEY.test(name));
  return key === undefined ? undefined : `data.${key} is reserved by FCM`;
}

/** FCM carries strings only. `pushId` is what the app reports when it is opened; the message's own goes before it. */
function dataOf({ data = {} }: PushContent, pushId: string): Record<string, string> {
  const texts = Object.entries(data).map(([key, value]) => [
    key,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return { pushId, ...Object.fromEntries(texts) };
}

function androidOf(message: PushContent, context: SendContext): NonNullable<FcmMessage['android']> {
  const { collapseId, channel, sound, badge, silent } = message;
  const left = secondsLeft(message, context);
  return {
    // FCM demotes apps that take high priority and show nothing.
    priority: silent ? 'normal' : message.priority,
    ...(left === undefined ? {} : { ttl: left * 1000 }),
    // FCM keeps four keys of a device, so none is made up where the message has none.
    ...(collapseId === undefined ? {} : { collapseKey: collapseId }),
    ...(silent
      ? {}
      : {
          notification: {
            // A notification replaces the one on the screen that has its tag: so a duplicate replaces itself.
            tag: collapseId ?? context.id,
            ...(channel === undefined ? {} : { channelId: channel }),
            ...(sound === false ? {} : { sound }),
            ...(badge === undefined ? {} : { notificationCount: badge }),
          },
        }),
  };
}

/** iOS apps that register with FCM: what FCM hands on to APNs. */
function apnsOf(message: PushContent, context: SendContext): NonNullable<FcmMessage['apns']> {
  const { pushType, priority, expiry, collapseId } = apnsHeaders(message, context);
  return {
    headers: {
      'apns-push-type': pushType,
      'apns-priority': String(priority),
      'apns-expiration': String(expiry),
      ...(collapseId === undefined ? {} : { 'apns-collapse-id': collapseId }),
    },
    payload: { aps: apsOf(message) },
    ...(message.image === undefined || message.silent ? {} : { fcmOptions: { imageUrl: message.image } }),
  };
}

/** A message as FCM takes it, for devices of a platform. */
export function fcmMessage(
  message: PushContent,
  platform: TransportDevice['platform'],
  context: SendContext,
): FcmMessage {
  const { title, body, image, silent } = message;
  const notification = {
    ...(title === undefined ? {} : { title }),
    ...(body === undefined ? {} : { body }),
    ...(image === undefined ? {} : { imageUrl: image }),
  };
  return {
    ...(silent ? {} : { notification }),
    data: dataOf(message, context.id),
    ...(platform === 'ios' ? { apns: apnsOf(message, context) } : { android: androidOf(message, context) }),
  };
}

// As long as every id of a push.
const ANY_ID = '0'.repeat(24);

/**
 * Bytes that FCM counts: the payload, without token, priority and lifetime. FCM does not tell exactly how; this errs above. Of iOS
 * what goes on to APNs: the alert there takes the place of the notification's texts, so they are counted once.
 */
export function fcmSize(message: PushContent, platform: TransportDevice['platform']): number {
  const { notification, data, android, apns } = fcmMessage(message, platform, { id: ANY_ID });
  const counted =
    apns === undefined
      ? { notification, data, shown: android?.notification }
      : { data, shown: apns.payload, image: apns.fcmOptions };
  return Buffer.byteLength(JSON.stringify(counted));
}
