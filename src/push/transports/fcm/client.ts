import { randomUUID } from 'node:crypto';
import type { SendResponse, TokenMessage } from 'firebase-admin/messaging';
import { withDeadline } from '../../../platform/deadline.ts';
import { isNotProcessed } from './errors.ts';
import type { ServiceAccount } from './service-account.ts';

/** What FCM said of a message: its name, or why not. */
export type FcmResult = Pick<SendResponse, 'messageId'> & { error?: unknown };

/** FCM, as the Admin SDK reaches it. */
export interface FcmClient {
  /**
   * Sends up to 500 messages over one connection. Gives one answer per message, in order, within the deadline; never rejects.
   *
   * @param validateOnly FCM looks at them and delivers nothing
   */
  send(messages: readonly TokenMessage[], validateOnly?: boolean): Promise<FcmResult[]>;
  close(): Promise<void>;
}

// The library waits for ever when a connection is closed without an answer, and up to 82 s for a server that says nothing.
/** ms for a call with everything in it. */
export const DEADLINE_MS = 30_000;
/** How often messages are sent again that FCM says it has not looked at. */
const ROUNDS = 3;

/** Opens the client. The library is loaded here: who does not send through FCM does not pay for it. */
export async function openFcmClient(account: ServiceAccount, deadlineMs: number): Promise<FcmClient> {
  const { initializeApp, cert, deleteApp } = await import('firebase-admin/app');
  const { getMessaging } = await import('firebase-admin/messaging');
  // A copy: the library writes into what it is given.
  const credential = cert({ ...account });
  const app = initializeApp({ credential, projectId: account.projectId }, `belfry-${randomUUID()}`);
  const messaging = getMessaging(app);

  /** One call of the library: the answers, or one error for all. */
  async function sendOnce(messages: TokenMessage[], validateOnly: boolean, until: number): Promise<FcmResult[]> {
    try {
      const sending = messaging.sendEach(messages, validateOnly);
      const message = `No answer within ${deadlineMs / 1000} s`;
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
        const got = await sendOnce(
          open.map((i) => messages[i]!),
          validateOnly,
          until,
        );
        for (const [i, at] of open.entries()) results[at] = got[i] ?? { error: new Error('No answer') };
        if (round === ROUNDS || performance.now() >= until) break;
        open = open.filter((at) => isNotProcessed(results[at]!.error));
      }
      return results;
    },
    close: () => deleteApp(app),
  };
}
