import { AddressRefusedError } from '../../../platform/http/address-guard/index.ts';
import type { PostResult } from '../../../platform/http/post.ts';
import { parseRetryAfter } from '../../../platform/http/retry-after.ts';
import type { Failure } from '../failure.ts';

/** The wait in ms after a rate limit if the push service sends no wait. */
const RATE_LIMIT_WAIT_MS = 60_000;

/** Matches the error texts of Apple and Chrome for a subscription that belongs to another VAPID key. */
const MISMATCHED_KEY_TEXT = /VapidPkHashMismatch|do not correspond/i;
/** Matches the error texts of Apple, Chrome and Mozilla if the service refuses the sender, not the message. */
const REFUSED_SENDER_TEXT = /vapid|jwt|UnauthorizedRegistration|authorization/i;

/** Classifies a refused address: a host that resolves to a non-public address is refused for good; after any DNS error the send is retried. */
function classifyAddressError({ cause, message }: AddressRefusedError): Failure {
  const isLookUp = typeof (cause as { code?: unknown } | undefined)?.code === 'string';
  return { class: isLookUp ? 'retryable' : 'permanent', name: 'EndpointRefused', detail: message };
}

function classifyBadRequest(detail: string): Failure {
  if (MISMATCHED_KEY_TEXT.test(detail)) return { class: 'misconfigured', name: 'MismatchedVapidKey', detail };
  if (REFUSED_SENDER_TEXT.test(detail)) return { class: 'misconfigured', name: 'InvalidCredentials', detail };
  return { class: 'permanent', name: 'InvalidMessage', detail };
}

/**
 * Classifies the response of a push service, or a missing one; undefined for a success. Based on RFC 8030 and the documentation of
 * the services (docs/extend/push-transports.md).
 */
export function classifyWebPushResponse({
  status,
  retryAfter,
  responseBody: answer,
  isTimedOut: late,
  error,
}: PostResult): Failure | undefined {
  if (error instanceof AddressRefusedError) return classifyAddressError(error);
  if (status === undefined) {
    const detail = late
      ? 'No response in time'
      : String((error as { code?: unknown } | undefined)?.code ?? 'No response');
    return { class: 'retryable', name: 'ConnectionLost', detail };
  }
  if (status >= 200 && status < 300) return undefined;
  const detail = answer.toString('utf8').trim() || `status ${status}`;
  const retryAfterMs = parseRetryAfter(retryAfter, Date.now()) ?? undefined;
  switch (status) {
    case 404:
    case 410:
      return { class: 'gone', name: 'DeviceNotRegistered', detail };
    case 413:
      return { class: 'permanent', name: 'MessageTooBig', detail };
    case 400:
      return classifyBadRequest(detail);
    case 401:
    case 403:
      return {
        class: 'misconfigured',
        name: MISMATCHED_KEY_TEXT.test(detail) ? 'MismatchedVapidKey' : 'InvalidCredentials',
        detail,
      };
    // The push service of Windows uses 406 for rate limits.
    case 406:
    case 429:
      return {
        class: 'retryable',
        name: 'MessageRateExceeded',
        detail,
        retryAfterMs: retryAfterMs ?? RATE_LIMIT_WAIT_MS,
      };
  }
  // Redirects are not followed, because only the registered endpoint was checked.
  if (status >= 500 || status < 400) return { class: 'retryable', name: 'ProviderUnavailable', detail, retryAfterMs };
  return { class: 'permanent', name: 'InvalidMessage', detail };
}
