import type { EncryptedColumn } from '../crypto/encrypted-column.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Database, Executor } from '../postgres/database.ts';
import type { MailContent, WholeMail } from './message.ts';

/** Longer than a send may take, so that two workers never send the same e-mail while both live. */
const LEASE_SECONDS = 180;

const INSERT = `
  insert into mails (id, kind, data, recipient, content) values ($1, $2, $3::jsonb, $4, $5)`;

// The worker that gets the row sends it. `attempts` numbers the claims: a late result of an earlier one is ignored.
const CLAIM = `
  update mails set attempts = attempts + 1, claimed_until = now() + interval '${LEASE_SECONDS} seconds'
  where id = $1 and finished_at is null and due_at <= now() and (claimed_until is null or claimed_until <= now())
  returning kind, data, recipient, content, attempts, created_at`;
const FINISH = `
  update mails set status = $3, finished_at = now(), claimed_until = null, error = $4, data = null,
    recipient = coalesce($5, recipient), content = $6
  where id = $1 and attempts = $2 and finished_at is null`;
const POSTPONE = `
  update mails set claimed_until = null, error = $3, due_at = now() + $4 * interval '1 second'
  where id = $1 and attempts = $2 and finished_at is null`;
const REMOVE = 'delete from mails where id = $1 and attempts = $2';
const CAPTURED = `
  select id, recipient, content from mails where status = 'captured' and content is not null
  order by created_at desc, id desc limit 1000`;

/** What a mail's content is bound to. */
function contentContext(id: string): string {
  return `mails/content/${id}`;
}

/** The columns that hold texts of e-mails. */
export const encryptedMails: readonly EncryptedColumn[] = [
  { name: 'mails.content', table: 'mails', column: 'content', context: contentContext },
];

/** An e-mail to be stored: its text, or who will make it. */
export type NewMail = { mail: WholeMail } | { kind: string; data: Record<string, unknown> };

/** An e-mail in the hands of a worker. */
export interface ClaimedMail {
  id: string;
  /** Counted from 1. */
  attempt: number;
  /** ISO 8601: when it was asked for. */
  createdAt: string;
  /** Who makes its text; undefined when it has one. */
  maker: { kind: string; data: Record<string, unknown> } | undefined;
  /** Its text. Throws when it cannot be decrypted. */
  read(): WholeMail;
}

/** How an e-mail ended. */
export interface MailEnd {
  status: 'sent' | 'captured' | 'failed';
  error?: string;
  /** Who it went to. */
  to?: string | undefined;
  /** What is kept of a captured one. */
  content?: Required<MailContent>;
}

/** The e-mails in Postgres. Their texts are ciphertexts there: they carry links that whoever has them may use. */
export interface MailStore {
  insert(id: string, mail: NewMail, on: Executor): Promise<void>;
  /** Undefined when it is not due, finished, or in another worker's hands. */
  claim(id: string): Promise<ClaimedMail | undefined>;
  finish(claimed: ClaimedMail, end: MailEnd): Promise<void>;
  postpone(claimed: ClaimedMail, error: string, seconds: number): Promise<void>;
  /** Forgets an e-mail that need not be sent. */
  remove(claimed: ClaimedMail): Promise<void>;
  /** The newest 1,000 captured ones, newest first. */
  captured(): Promise<WholeMail[]>;
}

export function createMailStore(database: Database, keyring: Keyring): MailStore {
  const seal = (id: string, { subject, text, html }: Required<MailContent>) =>
    keyring.encrypt(JSON.stringify({ subject, text, html }), contentContext(id));
  const open = (id: string, to: string, content: string): WholeMail => ({
    to,
    ...JSON.parse(keyring.decrypt(content, contentContext(id))),
  });

  return {
    async insert(id, given, on) {
      const values =
        'mail' in given
          ? [id, null, null, given.mail.to, seal(id, given.mail)]
          : [id, given.kind, JSON.stringify(given.data), null, null];
      await on.write({ name: 'mail_insert', text: INSERT, values });
    },
    async claim(id) {
      type Row = [string | null, Record<string, unknown> | null, string | null, string | null, number, string];
      const [row] = await database.write<Row>({ name: 'mail_claim', text: CLAIM, values: [id] });
      if (row === undefined) return undefined;
      const [kind, data, recipient, content, attempt, createdAt] = row;
      const maker = kind === null ? undefined : { kind, data: data! };
      return { id, attempt, createdAt, maker, read: () => open(id, recipient!, content!) };
    },
    async finish({ id, attempt }, { status, error, to, content }) {
      const kept = content === undefined ? null : seal(id, content);
      await database.write({ text: FINISH, values: [id, attempt, status, error, to, kept] });
    },
    async postpone({ id, attempt }, error, seconds) {
      await database.write({ text: POSTPONE, values: [id, attempt, error, seconds] });
    },
    async remove({ id, attempt }) {
      await database.write({ text: REMOVE, values: [id, attempt] });
    },
    async captured() {
      const rows = await database.write<[string, string, string]>({ text: CAPTURED, values: [] });
      return rows.map(([id, recipient, content]) => open(id, recipient, content));
    },
  };
}
