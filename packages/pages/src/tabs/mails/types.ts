/** An e-mail in the list of all e-mails of the app. */
export interface MailKind {
  kind: string;
  /** When the app's own e-mail is sent; empty for those of Belfry. */
  description: string;
  /** `replaced`: a built-in e-mail with texts of the project. */
  origin: 'project' | 'replaced' | 'built-in';
  /** The locales that have a text. */
  locales: string[];
}

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

/** What has become of a test. */
export interface TestProgress {
  status: 'queued' | 'sent' | 'captured' | 'failed';
  attempts: number;
  /** The earliest time of the next attempt, ISO 8601. */
  dueAt: string;
  /** What is wrong; null: no attempt has failed. */
  problem: 'unreachable' | 'tls' | 'signIn' | 'address' | 'text' | 'noServer' | 'other' | null;
  /** The message of the mail server. */
  error: string | null;
}

/** A captured e-mail in a list. */
export interface CapturedMailItem {
  id: string;
  to: string;
  subject: string;
  /** Null: code of the project sent it with its text. */
  kind: string | null;
  /** ISO 8601. */
  createdAt: string;
}

/** An e-mail that was captured instead of sent. */
export type CapturedMail = Mail & CapturedMailItem;
