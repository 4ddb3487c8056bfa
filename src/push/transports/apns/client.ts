import type { Notification, ProviderOptions } from '@parse/node-apn';
import { resolveWithin } from '../../../platform/deadline.ts';
import type { ApnsCredentials } from './credentials.ts';
import { type ApnsError, isNotProcessed, isTimeout } from './errors.ts';

/** What APNs said of a notification: its id, or why not. */
export type ApnsResult = { id: string | undefined } | { error: ApnsError };

/** APNs, as the library reaches it: one connection, kept open. */
export interface ApnsClient {
  /** Makes a notification; what is set of it afterwards counts for the sends that follow. */
  notification(fields: object): Notification;
  /** Sends a notification to one device. Never rejects. */
  send(notification: Notification, token: string): Promise<ApnsResult>;
  close(): Promise<void>;
}

/** ms for an answer, from the moment at which a notification is handed to the library. */
export const RESPONSE_TIMEOUT_MS = 15_000;
/** How often a notification is handed over that APNs says it has not looked at. */
const ROUNDS = 3;
/** ms to end a connection politely. */
const CLOSE_MS = 2000;

/**
 * Opens the client; the connection is made at the first send. The library is loaded here: who does not send through APNs does
 * not pay for it.
 *
 * @throws Error when the library finds the credentials wrong: a certificate that is not for this environment
 */
export async function openApnsClient(
  { proof, production }: ApnsCredentials,
  responseTimeoutMs: number,
): Promise<ApnsClient> {
  const { default: apn } = await import('@parse/node-apn');
  const options: ProviderOptions & { maxSessionMemory: number } = {
    ...(proof.kind === 'token'
      ? { token: { key: proof.key, keyId: proof.keyId, teamId: proof.teamId } }
      : { cert: proof.cert, key: proof.key }),
    production,
    requestTimeout: responseTimeoutMs,
    // The library's own retries come four within 10 ms, whatever APNs asks for.
    connectionRetryLimit: 0,
    // Node's 10 MB are too few for as many notifications as are under way at once.
    maxSessionMemory: 100,
  };
  let provider = new apn.Provider(options);
  let answeredAt = performance.now();

  function end(one: typeof provider): Promise<unknown> {
    const ended = new Promise<void>((resolve) => void one.shutdown(resolve));
    return resolveWithin(ended, CLOSE_MS, undefined);
  }

  async function sendOnce(notification: Notification, token: string): Promise<ApnsResult> {
    const own = provider;
    const since = performance.now();
    const { sent, failed } = await own.send(notification, token);
    const [error] = failed as ApnsError[];
    if (error === undefined) {
      answeredAt = performance.now();
      return { id: (sent[0] as { 'apns-id'?: string } | undefined)?.['apns-id'] };
    }
    if (error.status !== undefined) answeredAt = performance.now();
    // A connection that a firewall has forgotten looks open for many minutes, and the library would keep to it.
    if (isTimeout(error) && answeredAt < since && own === provider) {
      provider = new apn.Provider(options);
      void end(own);
    }
    return { error };
  }

  return {
    notification: (fields) => new apn.Notification(fields),
    async send(notification, token) {
      for (let round = 1; ; round++) {
        const result = await sendOnce(notification, token);
        if (round === ROUNDS || !('error' in result) || !isNotProcessed(result.error)) return result;
      }
    },
    async close() {
      await end(provider);
    },
  };
}
