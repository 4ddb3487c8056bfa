/** An e-mail in the list of all e-mails of the app. */
export interface MailKind {
  kind: string;
  description: string;
  /** `replaced`: a built-in e-mail with texts of the project. */
  origin: 'project' | 'replaced' | 'built-in';
  /** The locales that have a text. */
  locales: string[];
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
