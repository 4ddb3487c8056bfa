import type { MailContent } from './message.ts';

/** The input of the password reset e-mail. */
export interface PasswordResetMail {
  /**
   * The user's record: every field except passwords. Treat the values as untrusted: a user can enter another person's e-mail address, so
   * that this person receives them.
   */
  user: { id: string; [field: string]: unknown };
  /** The link for setting a new password: `auth.resetUrl` with the token. */
  link: string;
  /** How long the link works, in minutes. */
  minutes: number;
}

/** Creates the text of an e-mail. Without `html`, the HTML is generated from the text. The template must escape values in `html` itself. */
export type MailTemplate<About> = (about: About) => MailContent | Promise<MailContent>;
