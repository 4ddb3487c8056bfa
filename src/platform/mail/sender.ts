import { newId } from '../ids.ts';
import type { Executor } from '../postgres/database.ts';
import type { NewJob, Queues } from '../queues.ts';
import { type MailMessage, readMail } from './message.ts';
import type { MailStore, NewMail } from './store.ts';

/** The queue of e-mails. */
export const MAIL_QUEUE = 'mail';

/** The job of an e-mail. Its id is the e-mail's, so that it has one live job at most. */
export function mailJob(id: string): NewJob {
  return { name: 'send', data: { id }, opts: { jobId: `mail_${id}` } };
}

/** A transaction that an e-mail belongs to: it is sent when that is committed, and not at all when it is rolled back. */
export interface MailTransaction {
  database: Executor;
  afterCommit(work: () => unknown): void;
}

/** Sends e-mail. */
export interface MailSender {
  /**
   * Stores an e-mail to be sent, and does not wait for that. It is tried again while the mail server is away.
   *
   * @throws ApiError VALIDATION_ERROR with a message per field
   */
  send(mail: MailMessage, within?: MailTransaction): Promise<{ id: string }>;
  /**
   * The same for an e-mail whose text is made when it is sent, by the composer of that name.
   *
   * @param kind the name under which a feature offers its composer in `mails`
   * @param data what the composer is given: JSON, not encrypted
   */
  sendComposed(kind: string, data: Record<string, unknown>, within?: MailTransaction): Promise<{ id: string }>;
}

export function createMailSender(store: MailStore, database: Executor, queues: Queues): MailSender {
  async function enqueue(given: NewMail, within: MailTransaction | undefined): Promise<{ id: string }> {
    const id = newId();
    await store.insert(id, given, within?.database ?? database);
    // Not waited for: it never fails, and where it cannot add the job the sweep does.
    const dispatch = () => void queues.add(MAIL_QUEUE, [mailJob(id)]);
    if (within === undefined) dispatch();
    else within.afterCommit(dispatch);
    return { id };
  }
  return {
    send: async (mail, within) => enqueue({ mail: readMail(mail) }, within),
    sendComposed: (kind, data, within) => enqueue({ kind, data }, within),
  };
}
