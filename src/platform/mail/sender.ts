import type { Executor } from '../data/postgres/database.ts';
import { newId } from '../helpers/ids.ts';
import type { NewJob, Queues } from '../work/queues/queues.ts';
import { type MailMessage, validateMail } from './message.ts';
import type { MailStore, NewMail } from './store.ts';

/** The queue of e-mails. */
export const MAIL_QUEUE = 'mail';

/** Creates the job that sends an e-mail. The job id contains the e-mail's id, so that an e-mail has at most one live job. */
export function createMailJob(id: string): NewJob {
  return { name: 'send', data: { id }, opts: { jobId: `mail_${id}` } };
}

/** The transaction that an e-mail belongs to: the e-mail is sent after the commit, and not at all after a rollback. */
export interface MailTransaction {
  database: Executor;
  afterCommit(work: () => unknown): void;
}

/** Sends e-mail. */
export interface MailSender {
  /**
   * Stores an e-mail to be sent, without waiting for the send. It is retried while the mail server is down.
   *
   * @throws ApiError VALIDATION_ERROR with a message per field
   */
  send(mail: MailMessage, within?: MailTransaction): Promise<{ id: string }>;
  /**
   * Like `send`, but the named composer creates the text when the e-mail is sent.
   *
   * @param kind the name of the composer in the `mails` of a feature
   * @param data the input of the composer: JSON, not encrypted. Within a request, the locale that its client prefers is added as `locale`,
   *   unless the data has one
   */
  sendComposed(kind: string, data: Record<string, unknown>, within?: MailTransaction): Promise<{ id: string }>;
  /** Like `sendComposed` for several e-mails of a kind, with one statement. */
  sendManyComposed(kind: string, data: readonly Record<string, unknown>[], within?: MailTransaction): Promise<void>;
}

/** @param findLocale returns the locale that the client of the current request prefers; undefined outside of requests */
export function createMailSender(
  store: MailStore,
  database: Executor,
  queues: Queues,
  findLocale: () => string | undefined,
): MailSender {
  const withLocale = (data: Record<string, unknown>) => ({ locale: findLocale(), ...data });
  async function storeAndEnqueueMail(given: NewMail, within: MailTransaction | undefined): Promise<{ id: string }> {
    const id = newId();
    await store.insertMail(id, given, within?.database ?? database);
    // No need to wait: `add` never fails, and a sweep adds the job if Redis is down.
    const addMailJob = () => void queues.add(MAIL_QUEUE, [createMailJob(id)]);
    if (within === undefined) addMailJob();
    else within.afterCommit(addMailJob);
    return { id };
  }
  return {
    send: async (mail, within) => storeAndEnqueueMail({ mail: validateMail(mail) }, within),
    sendComposed: (kind, data, within) => storeAndEnqueueMail({ kind, data: withLocale(data) }, within),
    async sendManyComposed(kind, data, within) {
      const mails = data.map((each) => ({ id: newId(), data: withLocale(each) }));
      await store.insertComposedMails(kind, mails, within?.database ?? database);
      const jobs = mails.map(({ id }) => createMailJob(id));
      if (within === undefined) void queues.add(MAIL_QUEUE, jobs);
      else within.afterCommit(() => void queues.add(MAIL_QUEUE, jobs));
    },
  };
}
