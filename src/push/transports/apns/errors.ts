import type { Failure, FailureClass } from '../failure.ts';

const HEX = /^[0-9a-f]{1,200}$/i;

/** Whether a token of an iOS device is APNs' own, which is hexadecimal. The others are of FCM, which hands on to APNs. */
export function isApnsToken(token: string): boolean {
  return HEX.test(token);
}

/** A notification that did not get through, as @parse/node-apn tells it. */
export interface ApnsError {
  status?: number;
  /** `timestamp`: epoch ms since when the token is not valid; of 410 only. */
  response?: { reason?: string; timestamp?: unknown };
  error?: { message?: string };
  code?: string;
}

/** The quotas of a device, and of renewing tokens; Apple gives no times, or the library does not hand them on. */
const RATE_WAIT_MS = 60_000;
const TOKEN_UPDATES_WAIT_MS = 20 * 60_000;

/** The one reason that the library tells as an error of its own. */
const EXPIRED = 'ExpiredProviderToken';

// https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
const BY_REASON: Record<string, [FailureClass, name: string, waitMs?: number]> = {
  Unregistered: ['gone', 'DeviceNotRegistered'],
  ExpiredToken: ['gone', 'DeviceNotRegistered'],
  // Also what every device gives when sandbox and production are mixed up: the guard before removals is for that.
  BadDeviceToken: ['gone', 'InvalidRegistration'],

  DeviceTokenNotForTopic: ['misconfigured', 'InvalidTopic'],
  BadTopic: ['misconfigured', 'InvalidTopic'],
  MissingTopic: ['misconfigured', 'InvalidTopic'],
  TopicDisallowed: ['misconfigured', 'InvalidTopic'],
  InvalidProviderToken: ['misconfigured', 'InvalidCredentials'],
  MissingProviderToken: ['misconfigured', 'InvalidCredentials'],
  BadCertificate: ['misconfigured', 'InvalidCredentials'],
  BadCertificateEnvironment: ['misconfigured', 'InvalidCredentials'],
  Forbidden: ['misconfigured', 'InvalidCredentials'],
  UnrelatedKeyIdInToken: ['misconfigured', 'InvalidCredentials'],
  BadEnvironmentKeyIdInToken: ['misconfigured', 'InvalidCredentials'],
  BadEnvironmentKeyInToken: ['misconfigured', 'InvalidCredentials'],
  BadPath: ['misconfigured', 'InvalidCredentials'],
  MethodNotAllowed: ['misconfigured', 'InvalidCredentials'],

  PayloadTooLarge: ['permanent', 'MessageTooBig'],

  [EXPIRED]: ['retryable', 'ProviderUnavailable'],
  TooManyRequests: ['retryable', 'MessageRateExceeded', RATE_WAIT_MS],
  TooManyProviderTokenUpdates: ['retryable', 'MessageRateExceeded', TOKEN_UPDATES_WAIT_MS],
  IdleTimeout: ['retryable', 'ConnectionLost'],
  InternalServerError: ['retryable', 'ProviderUnavailable'],
  ServiceUnavailable: ['retryable', 'ProviderUnavailable'],
  Shutdown: ['retryable', 'ProviderUnavailable'],
};

/**
 * APNs has not looked at the notification, or has only found the provider's token too old, which the library has renewed by now:
 * it may be sent again at once, and none will come twice.
 */
export function isNotProcessed({ error, code = '' }: ApnsError): boolean {
  const text = error?.message ?? '';
  return text === EXPIRED || text.includes('NGHTTP2_REFUSED_STREAM') || code.startsWith('ERR_HTTP2_');
}

/** No answer came within the time for one. */
export function isTimeout({ error }: ApnsError): boolean {
  return error?.message === 'apn write timeout';
}

/** What a failure means. */
export function apnsFailure({ status, response, error, code }: ApnsError): Failure {
  const reason = response?.reason ?? (error?.message === EXPIRED ? EXPIRED : undefined);
  const known = reason === undefined ? undefined : BY_REASON[reason];
  if (known !== undefined) {
    const [kind, name, retryAfterMs] = known;
    const since = Number(response?.timestamp);
    return { class: kind, name, detail: reason, retryAfterMs, goneSince: since > 0 ? since : undefined };
  }
  if (status === 429) {
    return { class: 'retryable', name: 'MessageRateExceeded', detail: reason, retryAfterMs: RATE_WAIT_MS };
  }
  // The library keeps the status of its own errors to itself at times, and says it in the text.
  const answered = status ?? Number(/ with status (\d{3}) /.exec(error?.message ?? '')?.[1] ?? 0);
  const detail = reason ?? error?.message ?? code;
  if (answered >= 500) return { class: 'retryable', name: 'ProviderUnavailable', detail };
  if (answered >= 400) return { class: 'permanent', name: 'InvalidMessage', detail };
  return { class: 'retryable', name: 'ConnectionLost', detail };
}
