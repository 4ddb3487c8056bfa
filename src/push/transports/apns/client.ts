import type { Notification, ProviderOptions, Responses } from '@parse/node-apn';
import { withTimeoutFallback } from '../../../platform/helpers/concurrency/deadline.ts';
import type { ApnsCredentials } from './credentials.ts';
import { type ApnsError, isNotProcessed, isTimeout } from './errors.ts';

/** The result of sending a notification to APNs: the id that APNs gave the notification, or an error. */
export type ApnsResult = { id: string | undefined } | { error: ApnsError };

/** A client of APNs with one connection that is kept open. */
export interface ApnsClient {
  /** Creates a notification, which can be sent several times, also concurrently. */
  notification(fields: object): Notification;
  /** Sends a notification to one device. Never rejects. @param id the `apns-id`; default: APNs chooses it */
  send(notification: Notification, token: string, id?: string): Promise<ApnsResult>;
  close(): Promise<void>;
}

/** Timeout in ms for a response of APNs, counted from the call of the library. */
export const RESPONSE_TIMEOUT_MS = 15_000;
/** Maximum tries of a notification that APNs did not process. */
const MAX_TRIES = 3;
/** Maximum ms for a graceful close of a connection. */
const CLOSE_TIMEOUT_MS = 2000;

/**
 * Opens the client, which connects at the first send. The library is loaded here: processes without APNs do not load it.
 *
 * @throws Error if the library refuses the credentials, such as a certificate for another environment
 */
export async function openApnsClient(
  { authentication, production }: ApnsCredentials,
  responseTimeoutMs: number,
): Promise<ApnsClient> {
  const { default: apn } = await import('@parse/node-apn');
  const options: ProviderOptions & { maxSessionMemory: number } = {
    ...(authentication.kind === 'token'
      ? { token: { key: authentication.key, keyId: authentication.keyId, teamId: authentication.teamId } }
      : { cert: authentication.cert, key: authentication.key }),
    production,
    requestTimeout: responseTimeoutMs,
    // The library would retry four times within 10 ms, whatever APNs asks for.
    connectionRetryLimit: 0,
    // Node's default of 10 MB is too small for 500 concurrent notifications.
    maxSessionMemory: 100,
  };
  let provider = new apn.Provider(options);
  let lastResponseAt = performance.now();

  function closeProvider(one: typeof provider): Promise<unknown> {
    const ended = new Promise<void>((resolve) => void one.shutdown(resolve));
    return withTimeoutFallback(ended, CLOSE_TIMEOUT_MS, undefined);
  }

  /** Reads the response to one notification, sent at `since` through `own`. Replaces a provider whose connection is dead. */
  function readResponse(
    { sent, failed }: Responses<unknown, unknown>,
    own: typeof provider,
    since: number,
  ): ApnsResult {
    const [error] = failed as ApnsError[];
    if (error === undefined) {
      lastResponseAt = performance.now();
      return { id: (sent[0] as { 'apns-id'?: string } | undefined)?.['apns-id'] };
    }
    if (error.status !== undefined) lastResponseAt = performance.now();
    // A connection that a firewall dropped silently looks open for minutes, and the library would keep using it.
    if (isTimeout(error) && lastResponseAt < since && own === provider) {
      provider = new apn.Provider(options);
      void closeProvider(own);
    }
    return { error };
  }

  return {
    notification: (fields) => new apn.Notification(fields),
    async send(notification, token, id) {
      for (let round = 1; ; round++) {
        const own = provider;
        const since = performance.now();
        // The library reads the headers before `send` returns, so notifications to several devices can share the object.
        notification.id = id as string;
        const result = readResponse(await own.send(notification, token), own, since);
        if (round === MAX_TRIES || !('error' in result) || !isNotProcessed(result.error)) return result;
      }
    },
    async close() {
      await closeProvider(provider);
    },
  };
}
