import type { TransportDevice, TransportResult } from '../transport.ts';

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
/** No provider gives out shorter ones; a letter that is one would blot out whole sentences. */
const SHORTEST_TOKEN = 8;

/** Providers may repeat what they were sent, and results are stored and shown. */
function withoutToken(text: string, token: string): string {
  return (token.length < SHORTEST_TOKEN ? text : text.replaceAll(token, '…')).slice(0, DETAIL_MAX);
}

/**
 * A failure as the result of a device.
 *
 * @param secret what must not stand in the text: the device's token, of a browser its endpoint
 */
export function failedResult(failure: Failure, secret: TransportDevice['token']): TransportResult {
  const { name, detail = '', goneSince, retryAfterMs } = failure;
  const error = detail === '' ? name : `${name}: ${withoutToken(detail, secret)}`;
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

/** ms that a notification waits for its turn; with the time of the send itself it stays below the worker's patience. */
export const PATIENCE_MS = 20_000;
