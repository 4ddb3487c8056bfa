import { randomUUID } from 'node:crypto';
import type { SendResponse, TokenMessage } from 'firebase-admin/messaging';
import { withDeadline } from '../../../platform/helpers/concurrency/deadline.ts';
import { isNotProcessed } from './errors.ts';
import type { ServiceAccount } from './service-account.ts';

/** The result of sending a message to FCM: the name that FCM gave the message, or an error. */
export type FcmResult = Pick<SendResponse, 'messageId'> & { error?: unknown };

/** A client of FCM, based on the Admin SDK. */
export interface FcmClient {
  /**
   * Sends up to 500 messages over one connection. Resolves with one result per message, in order, within the deadline; never rejects.
   *
   * @param validateOnly whether FCM only validates the messages and delivers nothing
   */
  send(messages: readonly TokenMessage[], validateOnly?: boolean): Promise<FcmResult[]>;
  close(): Promise<void>;
}

// Without a deadline, the library waits forever if a connection closes without a response, and up to 82 s for a silent server.
/** Timeout in ms for a call of `send`, including the retries. */
export const CALL_TIMEOUT_MS = 30_000;
/** Maximum tries of messages that FCM did not process. */
const MAX_TRIES = 3;

/** Opens the client. The library is loaded here: processes without FCM do not load it. */
export async function openFcmClient(account: ServiceAccount, deadlineMs: number): Promise<FcmClient> {
  const { initializeApp, cert, deleteApp } = await import('firebase-admin/app');
  const { getMessaging } = await import('firebase-admin/messaging');
  // The account is copied, because the library modifies its argument.
  const credential = cert({ ...account });
  const app = initializeApp({ credential, projectId: account.projectId }, `belfry-${randomUUID()}`);
  const messaging = getMessaging(app);

  /** Sends messages with one call of the library. Returns their results or, if the call fails, the same error for all messages. */
  async function sendMessagesOnce(
    messages: TokenMessage[],
    validateOnly: boolean,
    until: number,
  ): Promise<FcmResult[]> {
    try {
      const sending = messaging.sendEach(messages, validateOnly);
      const message = `No response within ${deadlineMs / 1000} s`;
      return (await withDeadline(sending, until - performance.now(), message)).responses;
    } catch (error) {
      return messages.map(() => ({ error }));
    }
  }

  return {
    async send(messages, validateOnly = false) {
      const until = performance.now() + deadlineMs;
      const results: FcmResult[] = [];
      let open = [...messages.keys()];
      for (let round = 1; open.length > 0; round++) {
        const got = await sendMessagesOnce(
          open.map((i) => messages[i]!),
          validateOnly,
          until,
        );
        for (const [i, at] of open.entries()) results[at] = got[i] ?? { error: new Error('No response') };
        if (round === MAX_TRIES || performance.now() >= until) break;
        open = open.filter((at) => isNotProcessed(results[at]!.error));
      }
      return results;
    },
    close: () => deleteApp(app),
  };
}
