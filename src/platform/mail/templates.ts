import type { MailContent } from './message.ts';

/** What the e-mail of a password reset is made from. */
export interface PasswordResetMail {
  /** The user's record, every field but passwords. What they wrote into it may be meant for somebody else's eyes. */
  user: { id: string; [field: string]: unknown };
  /** Where they set a new password: `auth.resetUrl` with the token. */
  link: string;
  /** How long the link works. */
  minutes: number;
}

/** Makes an e-mail's text; without `html` that is made from the text. Values of `html` are to be escaped by it. */
export type MailTemplate<About> = (about: About) => MailContent | Promise<MailContent>;
