/** An e-mail of the app or of Belfry in the list of all of them. */
export interface ListedMail {
  kind: string;
  /** When an e-mail of the project is sent; empty for the built-in ones. */
  description: string;
  /** `project`: the project declares it; `replaced`: a built-in e-mail with texts of the project; `built-in`. */
  origin: 'project' | 'replaced' | 'built-in';
  /** The locales that have a text. Of built-in e-mails, the languages of the app are always among them. */
  locales: readonly string[];
}

/** What has become of an e-mail. */
export interface MailProgress {
  status: 'queued' | 'sent' | 'captured' | 'failed';
  attempts: number;
  /** The earliest time of the next attempt, ISO 8601. */
  dueAt: string;
  /** The error of the last attempt, which may contain the recipient; null: none has failed. */
  error: string | null;
}
