import type { TokenMessage } from 'firebase-admin/messaging';
import type { PushContent } from '../../message/message.ts';
import { PLACEHOLDER_ID } from '../../message/message.ts';
import type { SendContext, TransportDevice } from '../../message/transport.ts';
import { createApnsHeaders, toApsDictionary } from '../apns/message.ts';
import { getRemainingTtlSeconds } from '../failure.ts';

/** https://firebase.google.com/docs/cloud-messaging/customize-messages/set-message-type */
export const FCM_LIMIT_BYTES = 4096;

/** https://firebase.google.com/docs/reference/fcm/rest/v1/projects.messages#Message.FIELDS.data */
const RESERVED_KEY = /^(from$|message_type$|collapse_key$|google\.|gcm\.)/;

/** An FCM message without the token of the device. */
export type FcmMessage = Omit<TokenMessage, 'token'>;

/** Returns the reason why a message cannot be sent through FCM; otherwise undefined. */
export function fcmMessageError({ data = {} }: PushContent): string | undefined {
  const key = Object.keys(data).find((name) => RESERVED_KEY.test(name));
  return key === undefined ? undefined : `data.${key} is reserved by FCM`;
}

/** Converts data to strings, as FCM requires. Adds `pushId` unless the data has one; the app reports it when the notification is opened. */
function toFcmData({ data = {} }: PushContent, pushId: string): Record<string, string> {
  const texts = Object.entries(data).map(([key, value]) => [
    key,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return { pushId, ...Object.fromEntries(texts) };
}

function toAndroidConfig(message: PushContent, context: SendContext): NonNullable<FcmMessage['android']> {
  const { collapseId, channel, sound, badge, silent } = message;
  const left = getRemainingTtlSeconds(message, context);
  return {
    // FCM lowers the priority of apps that receive high-priority messages and show nothing.
    priority: silent ? 'normal' : message.priority,
    ...(left === undefined ? {} : { ttl: left * 1000 }),
    // FCM stores at most four collapse keys per device, so a message without collapseId gets none.
    ...(collapseId === undefined ? {} : { collapseKey: collapseId }),
    ...(silent
      ? {}
      : {
          notification: {
            // A notification replaces a shown notification with the same tag, so a duplicate replaces the first notification.
            tag: collapseId ?? context.id,
            ...(channel === undefined ? {} : { channelId: channel }),
            ...(sound === false ? {} : { sound }),
            ...(badge === undefined ? {} : { notificationCount: badge }),
          },
        }),
  };
}

/** Creates the part of a message that FCM forwards to APNs, for iOS devices with FCM tokens. */
function toApnsConfig(message: PushContent, context: SendContext): NonNullable<FcmMessage['apns']> {
  const { pushType, priority, expiry, collapseId } = createApnsHeaders(message, context);
  return {
    headers: {
      'apns-push-type': pushType,
      'apns-priority': String(priority),
      'apns-expiration': String(expiry),
      ...(collapseId === undefined ? {} : { 'apns-collapse-id': collapseId }),
    },
    payload: { aps: toApsDictionary(message) },
    ...(message.image === undefined || message.silent ? {} : { fcmOptions: { imageUrl: message.image } }),
  };
}

/** Builds the FCM message for devices of a platform. */
export function createFcmMessage(
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
    data: toFcmData(message, context.id),
    ...(platform === 'ios' ? { apns: toApnsConfig(message, context) } : { android: toAndroidConfig(message, context) }),
  };
}

/**
 * Returns the bytes of a message as FCM counts them: the payload without token, priority and lifetime. FCM does not document the exact
 * count, so the result is rounded up. For iOS, counts what FCM forwards to APNs, where the alert replaces the notification's texts.
 */
export function countFcmBytes(message: PushContent, platform: TransportDevice['platform']): number {
  const { notification, data, android, apns } = createFcmMessage(message, platform, { id: PLACEHOLDER_ID });
  const counted =
    apns === undefined
      ? { notification, data, shown: android?.notification }
      : { data, shown: apns.payload, image: apns.fcmOptions };
  return Buffer.byteLength(JSON.stringify(counted));
}
