import { vi } from 'vitest';
import type { App } from '../../src/runtime/create-app.ts';

/** An e-mail with a link and a code. */
export interface ProofMail {
  subject: string;
  text: string;
  /** The token in the fragment of the link. */
  token: string;
  /** The six-digit code. */
  code: string;
}

/** The mailbox of one address: the e-mails that an app has captured for it. */
export interface Mailbox {
  /** Waits for an e-mail that has not been read yet: the oldest, or the oldest with this subject. */
  next(subject?: string): Promise<ProofMail>;
  /** The number of e-mails that have arrived. */
  count(): Promise<number>;
}

/** Opens the mailbox of an address in an app that captures its e-mails. */
export function openMailbox(app: Pick<App, 'captured'>, address: string): Mailbox {
  // Each text contains a token or a code of its own.
  const read = new Set<string>();
  const listMails = async () => (await app.captured.mails()).filter(({ to }) => to === address).toReversed();
  return {
    async next(wanted) {
      const findUnread = async () =>
        (await listMails()).find(({ subject, text }) => !read.has(text) && (wanted ?? subject) === subject);
      const { subject, text } = await vi.waitUntil(findUnread, { timeout: 60_000, interval: 20 });
      read.add(text);
      return { subject, text, token: /#token=([\w-]+)/.exec(text)?.[1] ?? '', code: /^\d{6}$/m.exec(text)?.[0] ?? '' };
    },
    count: async () => (await listMails()).length,
  };
}
