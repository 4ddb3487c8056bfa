import type { Failure, FailureClass } from '../failure.ts';

const HEXADECIMAL_TOKEN = /^[0-9a-f]{1,200}$/i;

/** Whether an iOS token was issued by APNs: those are hexadecimal. Other tokens were issued by FCM, which forwards to APNs. */
export function isApnsToken(token: string): boolean {
  return HEXADECIMAL_TOKEN.test(token);
}

/** A failed notification, as reported by @parse/node-apn. */
export interface ApnsError {
  status?: number;
  /** `timestamp`: epoch ms at which the token became invalid; only with status 410. */
  response?: { reason?: string; timestamp?: unknown };
  error?: { message?: string };
  code?: string;
}

/** The wait in ms after a rate limit of APNs: Apple sends no wait, or the library drops it. */
const RATE_LIMIT_WAIT_MS = 60_000;
const TOKEN_UPDATES_WAIT_MS = 20 * 60_000;

/** The only APNs reason that the library does not pass on as a response but reports as an error of its own. */
const EXPIRED_PROVIDER_TOKEN = 'ExpiredProviderToken';

// https://developer.apple.com/documentation/usernotifications/handling-notification-responses-from-apns
const FAILURE_BY_REASON: Record<string, [FailureClass, name: string, waitMs?: number]> = {
  Unregistered: ['gone', 'DeviceNotRegistered'],
  ExpiredToken: ['gone', 'DeviceNotRegistered'],
  // All devices fail like this if sandbox and production are mixed up; the limit on gone devices in a row prevents their removal.
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

  [EXPIRED_PROVIDER_TOKEN]: ['retryable', 'ProviderUnavailable'],
  TooManyRequests: ['retryable', 'MessageRateExceeded', RATE_LIMIT_WAIT_MS],
  TooManyProviderTokenUpdates: ['retryable', 'MessageRateExceeded', TOKEN_UPDATES_WAIT_MS],
  IdleTimeout: ['retryable', 'ConnectionLost'],
  InternalServerError: ['retryable', 'ProviderUnavailable'],
  ServiceUnavailable: ['retryable', 'ProviderUnavailable'],
  Shutdown: ['retryable', 'ProviderUnavailable'],
};

/**
 * Whether APNs did not process the notification, or only found the provider token expired, which the library has renewed since.
 * Such a notification can be sent again at once without duplicates.
 */
export function isNotProcessed({ error, code = '' }: ApnsError): boolean {
  const text = error?.message ?? '';
  return text === EXPIRED_PROVIDER_TOKEN || text.includes('NGHTTP2_REFUSED_STREAM') || code.startsWith('ERR_HTTP2_');
}

/** Whether the response timed out. */
export function isTimeout({ error }: ApnsError): boolean {
  return error?.message === 'apn write timeout';
}

/** Classifies an error of APNs. */
export function classifyApnsError({ status, response, error, code }: ApnsError): Failure {
  const reason = response?.reason ?? (error?.message === EXPIRED_PROVIDER_TOKEN ? EXPIRED_PROVIDER_TOKEN : undefined);
  const known = reason === undefined ? undefined : FAILURE_BY_REASON[reason];
  if (known !== undefined) {
    const [kind, name, retryAfterMs] = known;
    const since = Number(response?.timestamp);
    return { class: kind, name, detail: reason, retryAfterMs, goneSince: since > 0 ? since : undefined };
  }
  if (status === 429) {
    return { class: 'retryable', name: 'MessageRateExceeded', detail: reason, retryAfterMs: RATE_LIMIT_WAIT_MS };
  }
  // For some errors the library reports the status only in its text.
  const answered = status ?? Number(/ with status (\d{3}) /.exec(error?.message ?? '')?.[1] ?? 0);
  const detail = reason ?? error?.message ?? code;
  if (answered >= 500) return { class: 'retryable', name: 'ProviderUnavailable', detail };
  if (answered >= 400) return { class: 'permanent', name: 'InvalidMessage', detail };
  return { class: 'retryable', name: 'ConnectionLost', detail };
}
