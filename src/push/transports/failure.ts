import type { PushContent } from '../message.ts';
import { type SendContext, type TransportDevice, type TransportResult, withoutTokens } from '../transport.ts';

/** What follows from a failure: the device is removed, an alarm raised, a retry made, or nothing. */
export type FailureClass = 'gone' | 'misconfigured' | 'retryable' | 'permanent';

/** What a provider, or the way to it, said of one notification. */
export interface Failure {
  class: FailureClass;
  /** One word; the same for the same fault, whatever the provider calls it. docs/push.md lists them. */
  name: string;
  /** The provider's own words. */
  detail?: string | undefined;
  /** With `gone`: epoch ms since when the provider knows it. */
  goneSince?: number | undefined;
  /** With `retryable`: what the provider asked to wait. */
  retryAfterMs?: number | undefined;
}

const DETAIL_MAX = 300;

/** A failure as the result of a device. Its token is not repeated: results are stored and shown. */
export function failedResult(failure: Failure, device: TransportDevice): TransportResult {
  const { name, detail = '', goneSince, retryAfterMs } = failure;
  const error = detail === '' ? name : `${name}: ${withoutTokens(detail, [device]).slice(0, DETAIL_MAX)}`;
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

/** A notification that waited so long for its turn that its answer would come too late: it was not sent. */
export const NOT_SENT_IN_TIME: Failure = { class: 'retryable', name: 'NotSent', detail: 'The provider is too slow' };

/** ms that a notification waits for its turn; with the time of the send itself it stays below what the worker waits. */
export const MAX_WAIT_MS = 20_000;

/** 28 days, what FCM and web push services keep at most, and what they take when nothing is said. */
export const LONGEST_TTL_SECONDS = 2_419_200;

/** Whole seconds that a provider may still keep a notification, 0 for one try only; undefined when the message sets none. */
export function secondsLeft({ ttl }: PushContent, { expiresAt }: Pick<SendContext, 'expiresAt'>): number | undefined {
  if (ttl === undefined) return undefined;
  const left = expiresAt === undefined ? ttl : Math.ceil((expiresAt - Date.now()) / 1000);
  return Math.max(0, Math.min(left, ttl, LONGEST_TTL_SECONDS));
}
