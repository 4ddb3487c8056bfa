import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type EndpointRule, endpointFault } from './push-endpoint.ts';

/** The platforms of devices. */
export const PLATFORMS = ['ios', 'android', 'web'] as const;

export type DevicePlatform = (typeof PLATFORMS)[number];

/** Characters of a token. FCM and APNs stay far below; a browser's subscription is the longest. */
export const TOKEN_MAX = 4096;

/** What every token of a simulated device starts with. */
export const SIMULATED_PREFIX = 'sim_';

// The JSON form of a browser's PushSubscription: https://www.w3.org/TR/push-api/#pushsubscription-interface
const subscription = z.object({
  endpoint: z.string(),
  keys: z.object({ p256dh: z.string().min(1), auth: z.string().min(1) }),
});

/** What a browser's token holds; undefined when it is no PushSubscription. */
export function readSubscription(token: string): z.output<typeof subscription> | undefined {
  try {
    return subscription.safeParse(JSON.parse(token)).data;
  } catch {
    return undefined;
  }
}

/** Which tokens are accepted. */
export interface TokenRule extends EndpointRule {
  /** Whether a transport of the app takes this token of Expo's push service. Left out: none does. */
  takesExpo?(platform: DevicePlatform, token: string): boolean;
}

const EXPO = /^\s*Expo(nent)?PushToken\[/;

/** Whether a token is one of Expo's push service, which neither FCM nor APNs knows: `ExponentPushToken[…]`. */
export function isExpoToken(token: string): boolean {
  return EXPO.test(token);
}

const EXPO_FAULT =
  'Is a push token of Expo, which no transport of this app takes; send the native device token (getDevicePushTokenAsync of expo-notifications)';

/** Returns the error of a token for a platform, or undefined. Length, NUL and `sim_` are checked elsewhere. */
export function tokenFault(platform: DevicePlatform, token: string, rule: TokenRule): string | undefined {
  if (isExpoToken(token) && !rule.takesExpo?.(platform, token)) return EXPO_FAULT;
  if (platform !== 'web') return undefined;
  const read = readSubscription(token);
  if (read === undefined) return 'Must be the JSON of a PushSubscription, with endpoint and keys';
  return endpointFault(read.endpoint, rule);
}

/** The part of a token that identifies its device: of a browser the endpoint, because the JSON of one subscription varies. */
function identity(token: string): string {
  return /^\s*\{/.test(token) ? (readSubscription(token)?.endpoint ?? token) : token;
}

/**
 * SHA-256, in hex, of what identifies the device of a token. Equal hashes are one device, whatever platform the client sent: a
 * known token moves to its new owner even if the platform differs.
 */
export function tokenHash(token: string): string {
  return createHash('sha256').update(identity(token)).digest('hex');
}

/**
 * A token to be shown: leading characters, an ellipsis, trailing characters; of a browser, those of its endpoint. At most
 * a quarter of the characters and never more than 12 are shown, so that a short token is not given away.
 */
export function maskToken(platform: DevicePlatform, token: string): string {
  const characters = [...(platform === 'web' ? identity(token) : token)];
  const shown = Math.min(6, Math.floor(characters.length / 8));
  return `${characters.slice(0, shown).join('')}…${characters.slice(characters.length - shown).join('')}`;
}
