import { AddressRefusedError } from '../../../platform/address-guard.ts';
import type { Posted } from '../../../platform/http/post.ts';
import { parseRetryAfter } from '../../../platform/http/retry-after.ts';
import type { Failure } from '../failure.ts';

/** When a push service names no time. */
const RATE_WAIT_MS = 60_000;

/** The subscription was made with another key: Apple, Chrome. */
const OTHER_KEY = /VapidPkHashMismatch|do not correspond/i;
/** What is refused is who sends, not what is sent: Apple, Chrome, Mozilla. */
const SENDER = /vapid|jwt|UnauthorizedRegistration|authorization/i;

/** A host that has no public address is never called; one whose name could not be looked up may have one later. */
function refused({ cause, message }: AddressRefusedError): Failure {
  const isLookUp = typeof (cause as { code?: unknown } | undefined)?.code === 'string';
  return { class: isLookUp ? 'retryable' : 'permanent', name: 'EndpointRefused', detail: message };
}

function badRequest(detail: string): Failure {
  if (OTHER_KEY.test(detail)) return { class: 'misconfigured', name: 'MismatchedVapidKey', detail };
  if (SENDER.test(detail)) return { class: 'misconfigured', name: 'InvalidCredentials', detail };
  return { class: 'permanent', name: 'InvalidMessage', detail };
}

/**
 * What an answer means, or that there is none. Undefined for a success. The table: RFC 8030, and what the services document
 * (docs/push.md).
 */
export function webPushFailure({ status, retryAfter, answer, late, error }: Posted): Failure | undefined {
  if (error instanceof AddressRefusedError) return refused(error);
  if (status === undefined) {
    const detail = late ? 'No answer in time' : String((error as { code?: unknown } | undefined)?.code ?? 'No answer');
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
      return badRequest(detail);
    case 401:
    case 403:
      return {
        class: 'misconfigured',
        name: OTHER_KEY.test(detail) ? 'MismatchedVapidKey' : 'InvalidCredentials',
        detail,
      };
    // Windows' service throttles by 406.
    case 406:
    case 429:
      return { class: 'retryable', name: 'MessageRateExceeded', detail, retryAfterMs: retryAfterMs ?? RATE_WAIT_MS };
  }
  // A redirect is not followed: only the endpoint that the client named was checked.
  if (status >= 500 || status < 400) return { class: 'retryable', name: 'ProviderUnavailable', detail, retryAfterMs };
  return { class: 'permanent', name: 'InvalidMessage', detail };
}
