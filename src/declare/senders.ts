import type { MailMessage } from '../platform/mail/message.ts';
import type { Jobs } from './job-queue.ts';
import type { AnyMail, MailRecipient, MailValuesOf } from './mail.ts';

/** Sends e-mails. In a transaction or a `before` hook, the e-mail is stored in that transaction. */
export interface MailOutlet {
  /**
   * Stores an e-mail to be sent, without waiting for the send. In a transaction or a `before` hook, it is sent after the commit, and not at
   * all after a rollback.
   *
   * @throws ApiError VALIDATION_ERROR with a message per field
   */
  send(mail: MailMessage): Promise<{ id: string }>;
  /**
   * The same for an e-mail of the project, in the language of its recipient.
   *
   * @param mail a declaration of `createApp({ mails })`
   * @param about the recipient (`to` or `user`), and the variables of the e-mail
   * @example await mail.send(ticketClosed, { user: ticket.author, title: ticket.title })
   */
  send<M extends AnyMail>(mail: M, about: MailRecipient & MailValuesOf<M>): Promise<{ id: string }>;
}

/**
 * Sends one of the app's own events to webhook endpoints.
 *
 * @param name an event that is declared in `webhooks({ events })`
 * @param options whose endpoints get the event besides those with scope `global`: `owner`, the id of a user, or `organisation`, an id
 * @returns the id of the event
 */
export type PublishEvent = (
  name: string,
  data: unknown,
  options?: { owner?: string | undefined; organisation?: string | undefined },
) => Promise<{ id: string }>;

/**
 * What hooks, route handlers, transactions and jobs can send or enqueue, besides pushes. In a transaction or a `before` hook, it becomes part of that
 * transaction: it is sent after the commit, and not at all after a rollback.
 */
export interface Senders {
  mail: MailOutlet;
  /** Publishes events that the app declares in `webhooks({ events })`. Throws an Error in an app without `webhooks()`. */
  webhooks: { publish: PublishEvent };
  jobs: Jobs;
}
