import { hash } from 'node:crypto';
import { z } from 'zod';
import { checkUrl } from '../../platform/http/address-guard/index.ts';
import type { Platform } from '../../platform/platform.ts';

/** Which Web Push endpoints are accepted. A rule is needed because clients choose the endpoint, and this server calls it. */
export interface EndpointRule {
  /** Whether any host and private addresses are accepted: for development, where a push service may run on the same machine. */
  allowPrivate: boolean;
  /** Hosts in addition to those of browser vendors; `*.example.com` for all subdomains, `*` for any public host. */
  hosts: readonly string[];
}

// Hosts of the push services of Chrome and browsers derived from it (official builds, other builds), Firefox, Safari and Edge.
const KNOWN = [
  'fcm.googleapis.com',
  'jmt17.google.com',
  '*.push.services.mozilla.com',
  '*.push.apple.com',
  '*.notify.windows.com',
];

function matchesHostPattern(host: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.startsWith('*') ? pattern === '*' || host.endsWith(pattern.slice(1)) : host === pattern,
  );
}

/** Returns which Web Push endpoints an app accepts, from its environment and settings. */
export function getEndpointRule({ env, settings }: Pick<Platform, 'env' | 'settings'>): EndpointRule {
  return { allowPrivate: env.nodeEnv !== 'production', hosts: settings.push.endpointHosts };
}

/**
 * Returns the error of a Web Push endpoint, or undefined. This checks only the URL; the address that its host resolves to is checked
 * whenever a push is sent.
 */
export function endpointError(endpoint: string, { allowPrivate, hosts }: EndpointRule): string | undefined {
  const checked = checkUrl(endpoint, { allowPrivate, requireHttps: true });
  if (!checked.ok) return 'Must be a PushSubscription whose endpoint is an https URL of a public host';
  if (
    allowPrivate ||
    matchesHostPattern(checked.url.hostname, KNOWN) ||
    matchesHostPattern(checked.url.hostname, hosts)
  )
    return undefined;
  return 'Must be a PushSubscription whose endpoint belongs to a known push service';
}

/** The platforms of devices. */
export const PLATFORMS = ['ios', 'android', 'web'] as const;

export type DevicePlatform = (typeof PLATFORMS)[number];

/** Maximum length of a token in characters (code points). Browser subscriptions are the longest; FCM and APNs tokens are much shorter. */
export const MAX_TOKEN_LENGTH = 4096;

/** The prefix of every token of a simulated device. */
export const SIMULATED_PREFIX = 'sim_';

// The JSON form of a browser's PushSubscription: https://www.w3.org/TR/push-api/#pushsubscription-interface
const subscription = z.object({
  endpoint: z.string(),
  keys: z.object({ p256dh: z.string().min(1), auth: z.string().min(1) }),
});

/** Parses a browser's token; returns undefined if it is not a PushSubscription. */
export function parsePushSubscription(token: string): z.output<typeof subscription> | undefined {
  try {
    return subscription.safeParse(JSON.parse(token)).data;
  } catch {
    return undefined;
  }
}

/** Which device tokens are accepted. */
export interface TokenRule extends EndpointRule {
  /** Returns whether a transport of the app accepts this Expo token. Omitted: no transport accepts Expo tokens. */
  acceptsExpoToken?(platform: DevicePlatform, token: string): boolean;
}

const EXPO = /^\s*Expo(nent)?PushToken\[/;

/** Returns whether a token belongs to Expo's push service (`ExponentPushToken[…]`). FCM and APNs do not accept such tokens. */
export function isExpoToken(token: string): boolean {
  return EXPO.test(token);
}

const EXPO_TOKEN_ERROR =
  'No transport of this app accepts Expo push tokens; send the native device token (getDevicePushTokenAsync of expo-notifications)';

/** Returns the error of a token for a platform, or undefined. Length, NUL and `sim_` are checked elsewhere. */
export function tokenError(platform: DevicePlatform, token: string, rule: TokenRule): string | undefined {
  if (isExpoToken(token) && !rule.acceptsExpoToken?.(platform, token)) return EXPO_TOKEN_ERROR;
  if (platform !== 'web') return undefined;
  const read = parsePushSubscription(token);
  if (read === undefined) return 'Must be the JSON of a PushSubscription, with endpoint and keys';
  return endpointError(read.endpoint, rule);
}

/** Returns the part of a token that identifies the device: for browsers the endpoint, because the JSON of a subscription varies. */
function deviceIdentityOf(token: string): string {
  return /^\s*\{/.test(token) ? (parsePushSubscription(token)?.endpoint ?? token) : token;
}

/**
 * Returns the SHA-256 (hex) of the part of a token that identifies the device. Equal hashes mean the same device, whatever platform
 * the client sent, so a known token moves to its new owner even if the platform differs.
 */
export function hashDeviceToken(token: string): string {
  return hash('sha256', deviceIdentityOf(token));
}

/** Maximum characters shown of each end of a token. */
const MAX_SHOWN = 6;
const SURROGATE = /[\ud800-\udfff]/;

/**
 * Masks a token for display: leading characters, an ellipsis, trailing characters (for browsers, of the endpoint). Shows at most a
 * quarter of the characters and never more than 12, so that a short token is not revealed.
 */
export function maskToken(platform: DevicePlatform, token: string): string {
  const text = platform === 'web' ? deviceIdentityOf(token) : token;
  // Only a text with surrogates has characters of several code units.
  const characters = SURROGATE.test(text) ? [...text] : text;
  const shown = Math.min(MAX_SHOWN, Math.floor(characters.length / 8));
  const ends = [characters.slice(0, shown), characters.slice(characters.length - shown)];
  return ends.map((end) => (typeof end === 'string' ? end : end.join(''))).join('…');
}
