// What the routes of the tab respond with. Times are ISO 8601.
import type { ListedMail, MailProgress } from '../../../platform/mail/listed.ts';

export type { ListedMail };

/** What the list says about sending. */
export interface MailDelivery {
  /** `captured`: instead of sent, in development; `none`: there is no mail server. */
  delivery: 'server' | 'captured' | 'none';
  /** The address of the administrator; null: tests cannot be sent. */
  testTo: string | null;
}

/** An e-mail with its text. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  /** The web addresses in the e-mail, each once. */
  links: string[];
}

/** What has become of a test. `problem`: what is wrong; null: no attempt has failed. */
export interface TestProgress extends MailProgress {
  problem: 'unreachable' | 'tls' | 'signIn' | 'address' | 'text' | 'noServer' | 'other' | null;
}

/** A captured e-mail in a list. */
export interface CapturedMailItem {
  id: string;
  to: string;
  subject: string;
  /** The kind of its composer; null: code of the project sent it with its text. */
  kind: string | null;
  /** When the e-mail was requested, ISO 8601. */
  createdAt: string;
}
/** An e-mail that was captured instead of sent. */
export type CapturedMail = Mail & CapturedMailItem;
