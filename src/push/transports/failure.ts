import type { PushContent } from '../message/message.ts';
import { redactTokens, type SendContext, type TransportDevice, type TransportResult } from '../message/transport.ts';

/** The consequence of a failure. `gone`: remove the device; `misconfigured`: raise an alarm; `retryable`: retry; `permanent`: nothing. */
export type FailureClass = 'gone' | 'misconfigured' | 'retryable' | 'permanent';

/** The failure of one notification, reported by the provider or by the connection to it. */
export interface Failure {
  class: FailureClass;
  /** The error in one word, such as `MessageTooBig`, the same for all providers. docs/extend/push-transports.md lists these words. */
  name: string;
  /** The provider's error text. */
  detail?: string | undefined;
  /** With `gone`: epoch ms at which the token became invalid. */
  goneSince?: number | undefined;
  /** With `retryable`: the wait in ms that the provider asks for. */
  retryAfterMs?: number | undefined;
}

const MAX_DETAIL_LENGTH = 300;

/** Converts a failure to the result of a device. The token is redacted, because results are stored and shown. */
export function toFailedResult(failure: Failure, device: TransportDevice): TransportResult {
  const { name, detail = '', goneSince, retryAfterMs } = failure;
  const error = detail === '' ? name : `${name}: ${redactTokens(detail, [device]).slice(0, MAX_DETAIL_LENGTH)}`;
  switch (failure.class) {
    case 'gone':
      return { ok: false, error, unregistered: true, ...(goneSince === undefined ? {} : { goneSince }) };
    case 'misconfigured':
      return { ok: false, error, misconfigured: true };
    case 'retryable':
      return { ok: false, error, retryable: true, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
    case 'permanent':
      return { ok: false, error };
  }
}

/** The failure of a notification that was not sent, because it waited too long for a free connection. */
export const NOT_SENT_IN_TIME: Failure = { class: 'retryable', name: 'NotSent', detail: 'No free connection in time' };

/** Maximum ms that a notification waits for a free connection. Waiting and sending together stay below the worker's timeout of 60 s. */
export const MAX_WAIT_MS = 20_000;

/** 28 days: the maximum and the default of FCM and web push services. */
export const MAX_TTL_SECONDS = 2_419_200;

/** Returns the whole seconds for which a provider may still keep a notification; 0 for a single try; undefined without a `ttl`. */
export function getRemainingTtlSeconds(
  { ttl }: PushContent,
  { expiresAt }: Pick<SendContext, 'expiresAt'>,
): number | undefined {
  if (ttl === undefined) return undefined;
  const left = expiresAt === undefined ? ttl : Math.ceil((expiresAt - Date.now()) / 1000);
  return Math.max(0, Math.min(left, ttl, MAX_TTL_SECONDS));
}
