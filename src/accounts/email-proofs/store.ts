import { randomInt } from 'node:crypto';
import type { ResourceGateway } from '../../declare/host.ts';
import type { RevocationStep } from '../../declare/revocation.ts';
import { generateSecret, hashToken } from '../../platform/data/crypto/token.ts';
import type { Database, Executor } from '../../platform/data/postgres/database.ts';
import { index, integer, jsonb, pgTable, text, timestamptz } from '../../platform/data/postgres/drizzle.ts';
import { newId } from '../../platform/helpers/ids.ts';
import { defineOwnedTable } from '../users/owned-table.ts';

/**
 * Links and codes that prove access to a mailbox. Only hashes of the secrets are stored. The e-mail's worker creates the secrets when it
 * composes the e-mail, so that they are stored nowhere else.
 */
export const emailProofs = pgTable(
  'email_proofs',
  {
    id: text('id').primaryKey(),
    /** What the proof is for: a proof works for nothing else. */
    purpose: text('purpose').notNull(),
    /** The address that receives the e-mail. */
    email: text('email').notNull(),
    /** The user that the proof belongs to; null if the address may have no account. */
    userId: text('user_id'),
    /** Hash of the secret of the client that requested the proof: the proof works only together with it. Null: for any client. */
    clientHash: text('client_hash').unique(),
    /** Null until the e-mail is composed. */
    tokenHash: text('token_hash').unique(),
    codeHash: text('code_hash'),
    /** Wrong codes. */
    failures: integer('failures').notNull().default(0),
    data: jsonb('data').notNull().default({}),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    expiresAt: timestamptz('expires_at').notNull(),
  },
  (table) => [
    index('email_proofs_user_id_index').on(table.userId),
    index('email_proofs_email_index').on(table.email),
    index('email_proofs_expires_at_index').on(table.expiresAt),
  ],
);

/** The proofs as rows of users. Uses index email_proofs_user_id_index. */
export const ownedProofs = defineOwnedTable(emailProofs);

/** What a proof is for. */
type ProofPurpose = 'verify' | 'change' | 'undo' | 'sign-in';

/** Wrong codes after which a code stops working. With six digits, a code is guessed with a chance of 1 in 200,000. */
const MAX_WRONG_CODES = 5;
const CODE_DIGITS = 6;
/** Time for composing the e-mail, before the secrets exist. Sending an e-mail is retried for less than a day. */
const COMPOSING_LIFETIME = `interval '1 day'`;

const INSERT = `
  insert into email_proofs (id, purpose, email, user_id, client_hash, data, expires_at)
  values ($1, $2, $3, $4, $5, $6::jsonb, now() + ${COMPOSING_LIFETIME})`;
// Uses index email_proofs_user_id_index.
const REMOVE_FORMER = 'delete from email_proofs where user_id = $1 and purpose = $2';
const ISSUE = `
  update email_proofs set token_hash = $2, code_hash = $3, failures = 0, expires_at = now() + $4::float8 * interval '1 minute',
    user_id = coalesce($5, user_id)
  where id = $1 and expires_at > now() returning email, user_id, data`;
const REMOVE_NEWER = `${REMOVE_FORMER} and created_at >= $3`;
// These use the unique indexes on the hashes, and the primary key.
const COLUMNS = 'id, email, user_id, data, created_at';
const LIVE = 'purpose = $2 and expires_at > now()';
const FIND_BY_TOKEN = `
  select ${COLUMNS} from email_proofs where token_hash = $1 and ${LIVE} and client_hash is not distinct from $3`;
const FIND_BY_CLIENT = `select ${COLUMNS} from email_proofs where client_hash = $1 and ${LIVE}`;
const FIND_BY_USER = `select ${COLUMNS} from email_proofs where user_id = $1 and ${LIVE}`;
const LOCK_FOR_CODE = `
  select code_hash from email_proofs where id = $1 and expires_at > now() and failures < ${MAX_WRONG_CODES} for update`;
const COUNT_WRONG_CODE = 'update email_proofs set failures = failures + 1 where id = $1';
const REMOVE = 'delete from email_proofs where id = $1 and expires_at > now() returning 1';
// Uses index email_proofs_email_index.
const REMOVE_OF_ADDRESS = 'delete from email_proofs where email = $1 and purpose = $2';

/** A proof that has been requested and not used up. */
export interface EmailProof {
  id: string;
  email: string;
  userId: string | undefined;
  data: Readonly<Record<string, unknown>>;
  /** ISO 8601. */
  createdAt: string;
}

/** The secrets of a proof, for its e-mail. */
export interface IssuedProof extends Pick<EmailProof, 'email' | 'userId' | 'data'> {
  /** For the link. */
  token: string;
  /** Six digits, to type. */
  code: string;
}

/** Proofs of access to a mailbox, for one purpose. */
export interface EmailProofs {
  /**
   * Stores a proof whose e-mail is about to be sent. An earlier proof of the same user for this purpose stops working.
   *
   * @param options `boundToClient`: the proof works only for the client that receives `clientSecret`. `keepsFormer`: earlier proofs go on
   *   working
   */
  request(
    proof: { email: string; userId?: string; data?: Record<string, unknown> },
    options: { boundToClient: boolean; keepsFormer?: boolean },
    on?: Executor,
  ): Promise<{ id: string; clientSecret: string }>;
  /**
   * Creates the secrets of a proof; earlier secrets stop working. Call it when the e-mail is composed.
   *
   * @param minutes how long the secrets work
   * @param userId the user with the proof's address, if the request did not look them up: the proof then ends with their other credentials
   * @returns undefined if the proof is no longer needed
   */
  issue(id: string, minutes: number, userId?: string): Promise<IssuedProof | undefined>;
  /** Finds a live proof by its token; a proof that is bound to a client also needs the client's secret. */
  findByToken(token: string, clientSecret?: string): Promise<EmailProof | undefined>;
  /** Finds the live proof that a client has requested. */
  findByClient(clientSecret: string): Promise<EmailProof | undefined>;
  /** Finds the live proof of a user. */
  findByUser(userId: string): Promise<EmailProof | undefined>;
  /**
   * Checks a code and uses the proof up if it is right, in the caller's transaction. Wrong codes are counted, so the caller must not roll
   * back after a wrong code. Concurrent guesses are checked one after the other.
   */
  redeemCode(id: string, code: string, tx: Executor): Promise<boolean>;
  /** Uses up a proof that was found by its token. Returns true for one caller only. */
  redeem(id: string, on: Executor): Promise<boolean>;
  /** Removes a user's proofs for this purpose that were requested at a time (ISO 8601) or later. */
  removeNewer(userId: string, since: string, on: Executor): Promise<void>;
  /** Removes the proofs of an address for this purpose. */
  removeOfAddress(email: string, on: Executor): Promise<void>;
}

const hashCode = (id: string, code: string) => hashToken(`${id}.${code}`);

/** Removes what people add when they copy a code: spaces and dashes. */
const normalizeCode = (code: string) => code.replaceAll(/[\s-]/g, '');

type Row = [id: string, email: string, userId: string | null, data: Record<string, unknown>, createdAt: string];

/** Creates the store of the proofs for one purpose. */
export function createEmailProofs(database: Database, purpose: ProofPurpose): EmailProofs {
  async function find(text: string, ...by: unknown[]): Promise<EmailProof | undefined> {
    const [row] = await database.write<Row>({ text, values: [by[0], purpose, ...by.slice(1)] });
    if (row === undefined) return undefined;
    const [id, email, userId, data, createdAt] = row;
    return { id, email, userId: userId ?? undefined, data, createdAt };
  }

  return {
    async request({ email, userId, data = {} }, { boundToClient, keepsFormer = false }, on = database) {
      const id = newId();
      const clientSecret = generateSecret();
      if (userId !== undefined && !keepsFormer) await on.write({ text: REMOVE_FORMER, values: [userId, purpose] });
      const clientHash = boundToClient ? hashToken(clientSecret) : null;
      await on.write({ text: INSERT, values: [id, purpose, email, userId, clientHash, JSON.stringify(data)] });
      return { id, clientSecret };
    },
    async issue(id, minutes, owner) {
      const token = generateSecret();
      const code = String(randomInt(10 ** CODE_DIGITS)).padStart(CODE_DIGITS, '0');
      const values = [id, hashToken(token), hashCode(id, code), minutes, owner ?? null];
      type Issued = [email: string, userId: string | null, data: Record<string, unknown>];
      const [row] = await database.write<Issued>({ text: ISSUE, values });
      if (row === undefined) return undefined;
      const [email, userId, data] = row;
      return { token, code, email, userId: userId ?? undefined, data };
    },
    findByToken: (token, clientSecret) =>
      find(FIND_BY_TOKEN, hashToken(token), clientSecret === undefined ? null : hashToken(clientSecret)),
    findByClient: (clientSecret) => find(FIND_BY_CLIENT, hashToken(clientSecret)),
    findByUser: (userId) => find(FIND_BY_USER, userId),
    async redeemCode(id, code, tx) {
      const [row] = await tx.write<[string | null]>({ text: LOCK_FOR_CODE, values: [id] });
      if (row === undefined) return false;
      if (row[0] === hashCode(id, normalizeCode(code)))
        return (await tx.write({ text: REMOVE, values: [id] })).length > 0;
      await tx.write({ text: COUNT_WRONG_CODE, values: [id] });
      return false;
    },
    async redeem(id, on) {
      return (await on.write({ text: REMOVE, values: [id] })).length > 0;
    },
    async removeNewer(userId, since, on) {
      await on.write({ text: REMOVE_NEWER, values: [userId, purpose, since] });
    },
    async removeOfAddress(email, on) {
      await on.write({ text: REMOVE_OF_ADDRESS, values: [email, purpose] });
    },
  };
}

// Uses indexes email_proofs_user_id_index and email_proofs_email_index. Proofs that other users have requested for the address, to change
// theirs to it, are theirs.
const removeByAddressSql = (table: string) => `
  delete from email_proofs where (purpose <> 'undo' and user_id = any($1))
    or (purpose = 'sign-in' and email in (select u."email" from "${table}" u where u."id" = any($1)))`;

/**
 * Creates the step that ends proofs together with other credentials. Proofs that undo the change of an address stay, unless the whole account
 * ends: an attacker with access to the account could otherwise end them. `removeNewer` ends those that an undo makes obsolete.
 */
export function createProofRevocation(users: ResourceGateway): RevocationStep {
  const removeByAddress = removeByAddressSql(users.table);
  return async ({ cause, userIds }, { database: on }) => {
    if (cause === 'key_revoked') return;
    if (cause === 'user_deleted' || cause === 'account_claimed') await ownedProofs.remove(on, userIds);
    await on.write({ text: removeByAddress, values: [userIds] });
  };
}
