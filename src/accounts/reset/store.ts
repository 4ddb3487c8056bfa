import { createHash, randomBytes } from 'node:crypto';
import type { RevocationStep } from '../../declare/accounts.ts';
import type { ResourceGateway, StoredRecord } from '../../declare/host.ts';
import { hashToken } from '../../platform/crypto/token.ts';
import type { Sweep } from '../../platform/outbox/relay.ts';
import type { Database, Executor } from '../../platform/postgres/database.ts';
import { removeInBatches } from '../../platform/postgres/write-in-batches.ts';
import { whenUsersAreDeleted } from '../deleted-users.ts';

const TOKEN = /^([\w-]{43})([\w-]{22})$/;
const EVERY_MS = 60_000;

const GRANT = `
  insert into password_resets as r (user_id, token_hash, requested_at, expires_at)
  values ($1, $2, $3, now() + $4 * interval '1 minute')
  on conflict (user_id) do update
    set token_hash = excluded.token_hash, requested_at = excluded.requested_at, expires_at = excluded.expires_at
    where r.requested_at <= excluded.requested_at
  returning 1`;
// Index password_resets_token_hash_unique.
const FIND = `
  select %columns% from password_resets r join %users% u on u."id" = r.user_id
  where r.token_hash = $1 and r.expires_at > now()`;
const SPEND = `
  update password_resets set token_hash = null, requested_at = clock_timestamp()
  where user_id = $1 and token_hash = $2 and expires_at > now() returning 1`;
// A row too where there was none: an e-mail may have been asked for that is not made yet.
const TAKE_BACK = `
  insert into password_resets (user_id, requested_at, expires_at) select unnest($1::text[]), clock_timestamp(), now()
  on conflict (user_id) do update set token_hash = null, requested_at = excluded.requested_at`;
// Index password_resets_expires_at_index. A day is longer than an e-mail is tried to be sent.
const REMOVE_OLD = `
  delete from password_resets where user_id in (
    select user_id from password_resets where expires_at < now() - interval '1 day' order by expires_at limit $1
    for update skip locked
  ) returning 1`;
const REMOVE_OF_USERS = 'delete from password_resets where user_id = any($1)';

/**
 * The end of a token. It depends on the address that the link goes to: where a project lets e-mails change, whoever reads the
 * former one must not get in by a link that waits there.
 */
function addressMark(random: string, { email }: StoredRecord): string {
  return createHash('sha256').update(`${random}.${email}`).digest('base64url').slice(0, 22);
}

/** The links by which users set a new password. Each user has one at most. */
export interface Resets {
  /**
   * Makes a link's token; the user's former link is dead then.
   *
   * @param requestedAt when it was asked for
   * @returns undefined when one that was asked for later has been made, or used, already
   */
  grant(user: StoredRecord, requestedAt: string): Promise<string | undefined>;
  /** Whose live link this is. One that went to an address that is no longer the user's is nobody's. */
  find(token: string): Promise<StoredRecord | undefined>;
  /** Uses up a live link: true for one caller only. */
  spend(userId: string, token: string, on: Executor): Promise<boolean>;
  /** Ends the links of deleted users, and of users with a new password. That includes a link that was requested but not created yet. */
  revoke: RevocationStep;
}

/** @param minutes how long a link lives */
export function createResets(database: Database, users: ResourceGateway, minutes: number): Resets {
  const find = FIND.replace('%columns%', users.columns('u')).replace('%users%', `"${users.table}"`);
  return {
    async grant(user, requestedAt) {
      const random = randomBytes(32).toString('base64url');
      const token = random + addressMark(random, user);
      const values = [user.id, hashToken(token), requestedAt, minutes];
      return (await database.write({ text: GRANT, values })).length > 0 ? token : undefined;
    },
    async find(token) {
      const [, random, mark] = TOKEN.exec(token) ?? [];
      if (random === undefined) return undefined;
      const [row] = await database.write({ text: find, values: [hashToken(token)] });
      const user = row && users.fromRow(row);
      return user !== undefined && addressMark(random, user) === mark ? user : undefined;
    },
    async spend(userId, token, on) {
      return (await on.write({ text: SPEND, values: [userId, hashToken(token)] })).length > 0;
    },
    async revoke({ cause, userIds }, { database: on }) {
      if (cause === 'user_deleted') await on.write({ text: REMOVE_OF_USERS, values: [userIds] });
      if (cause === 'password_change' || cause === 'password_reset') {
        await on.write({ text: TAKE_BACK, values: [userIds] });
      }
    },
  };
}

/** Removes links that are long over. */
export function resetSweep(database: Pick<Database, 'write'>): Sweep {
  return {
    name: 'password resets',
    everyMs: EVERY_MS,
    run: () => removeInBatches(database, REMOVE_OLD),
  };
}

/** Removes the links of users who are deleted. */
export const resetsOfDeletedUsers = (users: ResourceGateway) => whenUsersAreDeleted(users, REMOVE_OF_USERS);
