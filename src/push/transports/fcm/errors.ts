import { parseRetryAfter } from '../../../platform/http/retry-after.ts';
import type { Failure } from '../failure.ts';

/** The parts of a firebase-admin error that are read. */
interface FcmError {
  code?: string;
  message?: string;
  httpResponse?: { status: number; headers: Record<string, unknown>; data?: unknown };
  cause?: unknown;
}

/** The body of an API error: https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode */
interface ErrorBody {
  error?: { message?: string; details?: Detail[] };
}

interface Detail {
  '@type'?: string;
  errorCode?: string;
  fieldViolations?: { field?: string; description?: string }[];
}

/** The wait in ms after a rate limit if FCM sends no wait: FCM's quota is counted per minute. */
const RATE_LIMIT_WAIT_MS = 60_000;

const findDetail = (details: readonly Detail[], type: string) =>
  details.find((detail) => detail?.['@type']?.endsWith(`/${type}`));

/** Whether FCM did not process the message. It can be sent again at once without duplicates. */
export function isNotProcessed(error: unknown): boolean {
  return /NGHTTP2_REFUSED_STREAM/.test((error as FcmError | undefined)?.message ?? '');
}

function parseRetryAfterMs({ headers }: NonNullable<FcmError['httpResponse']>): number | undefined {
  const retryAfterHeader = headers['retry-after'];
  return (typeof retryAfterHeader === 'string' ? parseRetryAfter(retryAfterHeader, Date.now()) : null) ?? undefined;
}

/** Classifies a response with status 400: the token or the message is invalid. */
function classifyBadRequest(text: string, details: readonly Detail[]): Failure {
  const violations = findDetail(details, 'google.rpc.BadRequest')?.fieldViolations ?? [];
  const isToken =
    /not a valid FCM registration token/i.test(text) || violations.some(({ field }) => field === 'message.token');
  if (isToken) return { class: 'gone', name: 'InvalidRegistration', detail: text };
  const fields = violations.map(({ field, description }) => `${field}: ${description}`).join(', ');
  const name = /too (big|large|long)/i.test(text) ? 'MessageTooBig' : 'InvalidMessage';
  return { class: 'permanent', name, detail: fields || text };
}

function classifyFcmResponse(response: NonNullable<FcmError['httpResponse']>, message: string): Failure {
  const body = response.data as ErrorBody | undefined;
  const details = Array.isArray(body?.error?.details) ? body.error.details : [];
  const code = findDetail(details, 'google.firebase.fcm.v1.FcmError')?.errorCode;
  const detail = typeof body?.error?.message === 'string' ? body.error.message : message;
  const { status } = response;
  // The library uses one code for an unknown project and an invalid token. Only FCM's own code identifies the token.
  if (code === 'UNREGISTERED') return { class: 'gone', name: 'DeviceNotRegistered', detail };
  if (code === 'SENDER_ID_MISMATCH') return { class: 'misconfigured', name: 'MismatchSenderId', detail };
  if (code === 'THIRD_PARTY_AUTH_ERROR') return { class: 'misconfigured', name: 'ThirdPartyAuthError', detail };
  if (status === 400) return classifyBadRequest(detail, details);
  if (status === 401 || status === 403 || status === 404) {
    return { class: 'misconfigured', name: 'InvalidCredentials', detail };
  }
  if (status === 429) {
    const retryAfterMs = parseRetryAfterMs(response) ?? RATE_LIMIT_WAIT_MS;
    return { class: 'retryable', name: 'MessageRateExceeded', detail, retryAfterMs };
  }
  if (status >= 500 || status === 408) {
    return { class: 'retryable', name: 'ProviderUnavailable', detail, retryAfterMs: parseRetryAfterMs(response) };
  }
  return { class: 'permanent', name: 'InvalidMessage', detail };
}

/** Whether Google refused the key of the service account, as opposed to being unreachable. */
function isCredentialRefused(error: FcmError): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    const { status, response } = cause as { status?: unknown; response?: { status?: unknown } };
    const answered = response?.status ?? status;
    if (typeof answered === 'number') return answered >= 400 && answered < 500 && answered !== 429 && answered !== 408;
  }
  return /invalid_grant|invalid_client|unauthorized_client/.test(error.message ?? '');
}

/** Classifies an error of firebase-admin. */
export function classifyFcmError(thrown: unknown): Failure {
  const error = (thrown ?? {}) as FcmError;
  const { code = '', message = 'The FCM library reported no reason', httpResponse } = error;
  if (code === 'app/invalid-credential') {
    return isCredentialRefused(error)
      ? { class: 'misconfigured', name: 'InvalidCredentials', detail: 'Google refused the key of the service account' }
      : { class: 'retryable', name: 'ProviderUnavailable', detail: 'oauth2.googleapis.com could not be reached' };
  }
  if (httpResponse !== undefined) return classifyFcmResponse(httpResponse, message);
  // Without a response of FCM, codes that begin with `messaging/invalid-` are the library's own validation errors.
  if (/^messaging\/invalid-/.test(code)) return { class: 'permanent', name: 'InvalidMessage', detail: message };
  return { class: 'retryable', name: 'ConnectionLost', detail: message };
}
