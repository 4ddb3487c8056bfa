import { hash } from 'node:crypto';
import type { ResourceGateway, StoredRecord } from '../../declare/host.ts';
import type { Revocation, RevocationStep } from '../../declare/revocation.ts';
import { generateSecret, hashToken } from '../../platform/data/crypto/token.ts';
import type { Database, Executor } from '../../platform/data/postgres/database.ts';
import { index, pgTable, text, timestamptz } from '../../platform/data/postgres/drizzle.ts';
import { defineOwnedTable } from '../users/owned-table.ts';

/**
 * The newest link to set a new password, one row per user. Only the SHA-256 of its token is stored. A link that was used or
 * invalidated stays as a row without a token, so that an earlier request whose e-mail is sent late creates no new link.
 */
export const passwordResets = pgTable(
  'password_resets',
  {
    userId: text('user_id').primaryKey(),
    tokenHash: text('token_hash').unique(),
    requestedAt: timestamptz('requested_at').notNull(),
    expiresAt: timestamptz('expires_at').notNull(),
  },
  (table) => [index('password_resets_expires_at_index').on(table.expiresAt)],
);

/** The links as rows of users. */
export const ownedResets = defineOwnedTable(passwordResets);

const TOKEN = /^([\w-]{43})([\w-]{22})$/;

const UPSERT_TOKEN = `
  insert into password_resets as r (user_id, token_hash, requested_at, expires_at)
  values ($1, $2, $3, now() + $4 * interval '1 minute')
  on conflict (user_id) do update
    set token_hash = excluded.token_hash, requested_at = excluded.requested_at, expires_at = excluded.expires_at
    where r.requested_at <= excluded.requested_at
  returning 1`;
// Uses index password_resets_token_hash_unique.
const FIND = `
  select %columns% from password_resets r join %users% u on u."id" = r.user_id
  where r.token_hash = $1 and r.expires_at > now()`;
const USE_TOKEN = `
  update password_resets set token_hash = null, requested_at = clock_timestamp()
  where user_id = $1 and token_hash = $2 and expires_at > now() returning 1`;
// Inserts a row for a user without one, because a requested e-mail may not be composed yet.
const INVALIDATE = `
  insert into password_resets (user_id, requested_at, expires_at) select unnest($1::text[]), clock_timestamp(), now()
  on conflict (user_id) do update set token_hash = null, requested_at = excluded.requested_at`;

/**
 * Returns the last part of a token, which binds it to the user's address. If the address changes, a link that was sent to the
 * former address stops working.
 */
function addressSuffixOf(random: string, { email }: StoredRecord): string {
  return hash('sha256', `${random}.${email}`, 'base64url').slice(0, 22);
}

/** The links to set a new password. Each user has at most one link. */
export interface Resets {
  /**
   * Creates the token of a link and invalidates the user's previous link.
   *
   * @param requestedAt the time of the request, ISO 8601
   * @returns undefined if a link that was requested later has already been created or used
   */
  createToken(user: StoredRecord, requestedAt: string): Promise<string | undefined>;
  /** Returns the user of a live link; undefined if the token is unknown, expired, or was sent to a former address. */
  findUserByToken(token: string): Promise<StoredRecord | undefined>;
  /** Uses up a live link. Returns true for one caller only. */
  useToken(userId: string, token: string, on: Executor): Promise<boolean>;
  /** Ends the links of deleted users and of users with a new password or address, including links that are requested but not created yet. */
  revoke: RevocationStep;
}

/** The causes that end links, besides the deletion of a user: a link must not outlive what it was requested for. */
const INVALIDATING_CAUSES: ReadonlySet<Revocation['cause']> = new Set([
  'password_change',
  'password_reset',
  'email_change',
  'email_change_undone',
  'account_claimed',
]);

/**
 * Creates the store of reset links.
 *
 * @param minutes lifetime of a link in minutes
 */
export function createResets(database: Database, users: ResourceGateway, minutes: number): Resets {
  const findSql = FIND.replace('%columns%', users.columns('u')).replace('%users%', `"${users.table}"`);
  return {
    async createToken(user, requestedAt) {
      const random = generateSecret();
      const token = random + addressSuffixOf(random, user);
      const values = [user.id, hashToken(token), requestedAt, minutes];
      return (await database.write({ text: UPSERT_TOKEN, values })).length > 0 ? token : undefined;
    },
    async findUserByToken(token) {
      const [, random, mark] = TOKEN.exec(token) ?? [];
      if (random === undefined) return undefined;
      const [row] = await database.write({ text: findSql, values: [hashToken(token)] });
      const user = row && users.fromRow(row);
      return user !== undefined && addressSuffixOf(random, user) === mark ? user : undefined;
    },
    async useToken(userId, token, on) {
      return (await on.write({ text: USE_TOKEN, values: [userId, hashToken(token)] })).length > 0;
    },
    async revoke({ cause, userIds }, { database: on }) {
      if (cause === 'user_deleted') await ownedResets.remove(on, userIds);
      if (INVALIDATING_CAUSES.has(cause)) {
        await on.write({ text: INVALIDATE, values: [userIds] });
      }
    },
  };
}
