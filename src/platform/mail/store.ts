import type { EncryptedColumn } from '../data/crypto/encrypted-column.ts';
import type { Keyring } from '../data/crypto/keyring.ts';
import type { Database, Executor } from '../data/postgres/database.ts';
import { index, integer, jsonb, pgTable, sql, text, timestamptz } from '../data/postgres/drizzle.ts';
import { isId } from '../helpers/ids.ts';
import { LeaseLostError } from '../work/leased-work/lease.ts';
import { createOverdueSearch, type OverdueSearch } from '../work/leased-work/overdue-search.ts';
import type { MailProgress } from './listed.ts';
import type { CompleteMail, MailContent } from './message.ts';

/** E-mails to be sent, and for a while the results of sent ones. */
const mails = pgTable(
  'mails',
  {
    id: text('id').primaryKey(),
    /** The kind of the composer that creates the text when the e-mail is sent; null: the text is in `content`. */
    kind: text('kind'),
    /** The input of the composer. */
    data: jsonb('data'),
    recipient: text('recipient'),
    /** The user whose former address the recipient is. Null while the recipient is a current address. */
    userId: text('user_id'),
    /** Subject and text, encrypted; removed once the e-mail is sent. */
    content: text('content'),
    /** `queued`, then `sent`, `captured` or `failed`. */
    status: text('status').notNull().default('queued'),
    attempts: integer('attempts').notNull().default(0),
    /** The earliest time of the next attempt. */
    dueAt: timestamptz('due_at').notNull().defaultNow(),
    /** The end of the lease of the worker that claimed the e-mail; null: no worker has claimed it. */
    claimedUntil: timestamptz('claimed_until'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    finishedAt: timestamptz('finished_at'),
    error: text('error'),
  },
  (table) => [
    index('mails_due_at_index').on(table.dueAt).where(sql`finished_at is null`),
    index('mails_finished_at_index').on(table.finishedAt),
    index('mails_user_id_index').on(table.userId).where(sql`user_id is not null`),
    // For erasures and exports of a user's data: an e-mail leads to its user by the address, or by the input of its composer. An input may
    // have any size, but an index entry may not.
    index('mails_recipient_index')
      .on(sql`left(lower(recipient), 254)`)
      .where(sql`user_id is null and recipient is not null`),
    index('mails_data_owner_index').on(sql`left(data->>'owner', 40)`).where(sql`data->>'owner' is not null`),
    index('mails_data_email_index')
      .on(sql`left(lower(trim(data->>'email')), 254)`)
      .where(sql`user_id is null and data->>'email' is not null`),
  ],
);

/** The tables of e-mail, by name. */
export const mailTables = { mails };

/** The lease is longer than the time limit of a send: two live workers never send the same e-mail, and no lease is renewed. */
const LEASE_SECONDS = 180;
/** The maximum number of e-mails for which a sweep adds jobs. */
const MAX_OVERDUE = 1000;
/** Days for which e-mails are kept after they were sent or have failed. */
export const KEPT_DAYS = 7;

// The time of the statement, not of its transaction: a revocation earlier in the transaction must not apply to this e-mail.
const INSERT = `
  insert into mails (id, kind, data, recipient, content, created_at)
  values ($1, $2, $3::jsonb, $4, $5, clock_timestamp())`;

const INSERT_MANY = `
  insert into mails (id, kind, data) select id, $1, data::jsonb from unnest($2::text[], $3::text[]) as mail(id, data)`;

// The fence is `attempts`, the number of the claim. Uses the primary key: with `finished_at is null`, Postgres would use mails_due_at_index and read
// the entries of all e-mails that were sent since the last vacuum.
const CLAIM = `
  update mails set attempts = attempts + 1, claimed_until = now() + interval '${LEASE_SECONDS} seconds'
  where id = $1 and status = 'queued' and due_at <= now() and (claimed_until is null or claimed_until <= now())
  returning kind, data, recipient, content, attempts, created_at`;
const FINISH = `
  update mails set status = $3, finished_at = now(), claimed_until = null, error = $4, data = null,
    recipient = coalesce($5, recipient), content = $6
  where id = $1 and attempts = $2 and status = 'queued'
  returning 1`;
const RETRY = `
  update mails set claimed_until = null, error = $3, due_at = now() + $4 * interval '1 second'
  where id = $1 and attempts = $2 and status = 'queued'
  returning 1`;
const REMOVE = 'delete from mails where id = $1 and attempts = $2 returning 1';

/** Selects when the e-mails are due that no worker has claimed. Uses mails_due_at_index. */
export const DUE_MAILS = `
  select due_at from mails where finished_at is null and due_at <= now() and (claimed_until is null or claimed_until <= now()) order by due_at`;

const CAPTURED_COLUMNS = 'id, recipient, content, kind, created_at';
const IS_CAPTURED = "status = 'captured' and content is not null";
const READ_CAPTURED = `select ${CAPTURED_COLUMNS} from mails where id = $1 and ${IS_CAPTURED}`;
const FIND_CAPTURED = `
  select ${CAPTURED_COLUMNS} from mails
  where ${IS_CAPTURED} and ($1::text is null or strpos(lower(recipient), lower($1)) > 0)
    and ($2::text is null or (created_at, id) < (select created_at, id from mails where id = $2))
  order by created_at desc, id desc limit $3`;
const READ_PROGRESS = 'select status, attempts, due_at, error from mails where id = $1 and recipient = $2';
/** The maximum number of captured e-mails that are read at once. */
const MAX_CAPTURED = 1000;

/** The maximum number of newest e-mails among which failed ones are counted. */
const MAX_RECENT = 10_000;

// Uses index mails_finished_at_index.
const COUNT_FAILED = `
  select count(*) filter (where status = 'failed')::int
  from (select status from mails where finished_at > now() - interval '1 day' order by finished_at desc limit ${MAX_RECENT}) recent`;

/** Counts the e-mails of the last 24 hours, up to the newest 10,000, that could not be sent. */
export async function countFailedMails(database: Pick<Database, 'readSlowly'>): Promise<number> {
  const [row] = await database.readSlowly<[number]>({ text: COUNT_FAILED, values: [] });
  return row![0];
}

/** Returns the encryption context of an e-mail's content, from the id of the e-mail. */
function contentContext(id: string): string {
  return `mails/content/${id}`;
}

/** The columns that contain texts of e-mails. */
export const encryptedMails: readonly EncryptedColumn[] = [
  { name: 'mails.content', table: 'mails', column: 'content', context: contentContext },
];

/** An e-mail to store: its text, or the kind of its composer. */
export type NewMail = { mail: CompleteMail } | { kind: string; data: Record<string, unknown> };

/** An e-mail that this worker has claimed. */
export interface ClaimedMail {
  id: string;
  /** The number of the attempt, from 1. The fence of the claim. */
  attempt: number;
  /** When the e-mail was requested, ISO 8601. */
  createdAt: string;
  /** The kind of the composer that creates the text, and the composer's input; undefined for an e-mail with a stored text. */
  composed: { kind: string; data: Record<string, unknown> } | undefined;
  /** Returns the e-mail with its stored text, if it is not composed. Throws if the text cannot be decrypted. */
  read(): CompleteMail;
}

/** An e-mail that was captured instead of sent. */
export interface CapturedMail extends CompleteMail {
  id: string;
  /** The kind of its composer; null: code of the project sent it with its text. */
  kind: string | null;
  /** When the e-mail was requested, ISO 8601. */
  createdAt: string;
}

type CapturedRow = [id: string, to: string, content: string, kind: string | null, createdAt: string];

/** The final result of an e-mail. */
interface MailOutcome {
  status: 'sent' | 'captured' | 'failed';
  error?: string;
  /** The address of the recipient, which composing may have determined. */
  to?: string | undefined;
  /** The content of a captured e-mail; the content of other e-mails is removed. */
  content?: Required<MailContent>;
}

/**
 * The e-mails in Postgres. Their texts are stored encrypted, because they contain links that work for anyone who has them. Writes of a
 * claim throw a LeaseLostError if another worker has claimed the e-mail.
 */
export interface MailStore {
  /** Stores a new e-mail. @param on the database, or the caller's transaction */
  insertMail(id: string, mail: NewMail, on: Executor): Promise<void>;
  /** Stores e-mails of one kind that are composed when they are sent. @param on the database, or the caller's transaction */
  insertComposedMails(
    kind: string,
    mails: readonly { id: string; data: Record<string, unknown> }[],
    on: Executor,
  ): Promise<void>;
  /** Claims an e-mail. Returns undefined if the e-mail is not due, finished, or claimed by another worker. */
  claimMail(id: string): Promise<ClaimedMail | undefined>;
  /** Stores the final result of an e-mail and ends the lease. */
  storeOutcome(claimed: ClaimedMail, end: MailOutcome): Promise<void>;
  /** Stores the error of an attempt, and defers the e-mail by `seconds`. */
  scheduleRetry(claimed: ClaimedMail, error: string, seconds: number): Promise<void>;
  /** Deletes a claimed e-mail that does not need to be sent. */
  removeClaimedMail(claimed: ClaimedMail): Promise<void>;
  /** Reads what has become of an e-mail; undefined if this recipient has none with this id. */
  readProgress(id: string, recipient: string): Promise<MailProgress | undefined>;
  /** Finds the ids of up to 1,000 e-mails that are due and have no lease. */
  overdueMails: OverdueSearch<[string]>;
  /**
   * Returns captured e-mails, newest first.
   *
   * @param filter `recipient`: a part of the address; `after`: the id of the last e-mail of the previous page; `limit`: default 1,000
   */
  listCaptured(filter?: { recipient?: string; after?: string; limit?: number }): Promise<CapturedMail[]>;
  /** Returns a captured e-mail; undefined if there is none with this id. */
  readCaptured(id: string): Promise<CapturedMail | undefined>;
}

export function createMailStore(database: Database, keyring: Keyring): MailStore {
  const encryptContent = (id: string, { subject, text, html }: Required<MailContent>) =>
    keyring.encrypt(JSON.stringify({ subject, text, html }), contentContext(id));
  const decryptContent = (id: string, to: string, content: string): CompleteMail => ({
    to,
    ...JSON.parse(keyring.decrypt(content, contentContext(id))),
  });

  const toCapturedMail = ([id, to, content, kind, createdAt]: CapturedRow): CapturedMail => {
    return { id, kind, createdAt, ...decryptContent(id, to, content) };
  };

  async function writeIfStillClaimed(text: string, { id, attempt }: ClaimedMail, ...values: unknown[]): Promise<void> {
    const rows = await database.write({ text, values: [id, attempt, ...values] });
    if (rows.length === 0) throw new LeaseLostError('another worker has claimed it');
  }

  // Uses mails_due_at_index. Skips new e-mails, which most likely have their job.
  const overdueMails = createOverdueSearch<[string]>(database, 'mail_overdue', {
    table: 'mails',
    time: 'due_at',
    open: 'finished_at is null',
    overdue: `due_at <= now() and (claimed_until is null or claimed_until <= now())
      and (attempts > 0 or created_at < now() - interval '5 seconds')`,
    columns: 'id',
    limit: MAX_OVERDUE,
  });

  return {
    async insertMail(id, given, on) {
      const values =
        'mail' in given
          ? [id, null, null, given.mail.to, encryptContent(id, given.mail)]
          : [id, given.kind, JSON.stringify(given.data), null, null];
      await on.write({ name: 'mail_insert', text: INSERT, values });
    },
    async insertComposedMails(kind, mails, on) {
      const values = [kind, mails.map(({ id }) => id), mails.map(({ data }) => JSON.stringify(data))];
      await on.write({ name: 'mail_insert_many', text: INSERT_MANY, values });
    },
    async claimMail(id) {
      type Row = [string | null, Record<string, unknown> | null, string | null, string | null, number, string];
      const [row] = await database.write<Row>({ name: 'mail_claim', text: CLAIM, values: [id] });
      if (row === undefined) return undefined;
      const [kind, data, recipient, content, attempt, createdAt] = row;
      const composed = kind === null ? undefined : { kind, data: data! };
      return { id, attempt, createdAt, composed, read: () => decryptContent(id, recipient!, content!) };
    },
    storeOutcome: (claimed, { status, error, to, content }) =>
      writeIfStillClaimed(
        FINISH,
        claimed,
        status,
        error,
        to,
        content === undefined ? null : encryptContent(claimed.id, content),
      ),
    scheduleRetry: (claimed, error, seconds) => writeIfStillClaimed(RETRY, claimed, error, seconds),
    removeClaimedMail: (claimed) => writeIfStillClaimed(REMOVE, claimed),
    async readProgress(id, recipient) {
      type Row = [MailProgress['status'], number, string, string | null];
      const values = [id, recipient];
      const [row] = isId(id) ? await database.write<Row>({ text: READ_PROGRESS, values }) : [];
      return row && { status: row[0], attempts: row[1], dueAt: row[2], error: row[3] };
    },
    overdueMails,
    async listCaptured({ recipient, after, limit = MAX_CAPTURED } = {}) {
      const rows = await database.write<CapturedRow>({ text: FIND_CAPTURED, values: [recipient, after, limit] });
      return rows.map(toCapturedMail);
    },
    async readCaptured(id) {
      const [row] = isId(id) ? await database.write<CapturedRow>({ text: READ_CAPTURED, values: [id] }) : [];
      return row && toCapturedMail(row);
    },
  };
}
