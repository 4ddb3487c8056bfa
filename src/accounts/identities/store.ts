import type { Identity } from '../../declare/accounts.ts';
import type { RevocationStep } from '../../declare/revocation.ts';
import type { Database, Executor } from '../../platform/data/postgres/database.ts';
import { index, pgTable, text, timestamptz, uniqueIndex } from '../../platform/data/postgres/drizzle.ts';
import { newId } from '../../platform/helpers/ids.ts';
import { defineOwnedTable } from '../users/owned-table.ts';

/** The accounts at identity providers that users sign in with. */
export const userIdentities = pgTable(
  'user_identities',
  {
    id: text('id').primaryKey(),
    userId: text('user_id').notNull(),
    provider: text('provider').notNull(),
    /** The provider's id of the account. */
    subject: text('subject').notNull(),
    /** The address at the provider when the user last signed in. It may differ from the user's address. */
    email: text('email'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    lastUsedAt: timestamptz('last_used_at').notNull().defaultNow(),
  },
  (table) => [
    uniqueIndex('user_identities_provider_subject_index').on(table.provider, table.subject),
    index('user_identities_user_id_index').on(table.userId),
  ],
);

/** The identities as rows of users. Uses index user_identities_user_id_index. */
export const ownedIdentities = defineOwnedTable(userIdentities);

// Uses index user_identities_provider_subject_index.
const USE = `
  update user_identities set last_used_at = now(), email = coalesce($3, email)
  where provider = $1 and subject = $2 returning user_id`;
// Returns the owner of the identity, whether or not this statement has linked it.
const LINK = `
  with linked as (
    insert into user_identities (id, user_id, provider, subject, email) values ($1, $2, $3, $4, $5)
    on conflict (provider, subject) do nothing returning user_id
  )
  select user_id, true from linked
  union all select user_id, false from user_identities where provider = $3 and subject = $4`;
// These use index user_identities_user_id_index.
const LIST = `
  select id, provider, email, created_at, last_used_at from user_identities
  where user_id = $1 order by created_at, id`;
const HAS_IDENTITY = 'select 1 from user_identities where user_id = $1 limit 1';
const REMOVE = 'delete from user_identities where id = $1 and user_id = $2 returning provider';

/** An identity as its own user sees it. */
interface OwnIdentity {
  id: string;
  provider: string;
  email: string | null;
  createdAt: string;
  lastUsedAt: string;
}

/** The identities of users. */
export interface Identities {
  /** Returns the user with this identity and records that it was used; undefined if no user has it. */
  findUserAndRecordUsage(identity: Identity): Promise<string | undefined>;
  /** Links an identity to a user. `isNew` is false if it was linked before; `userId` is its user now. */
  link(userId: string, identity: Identity, on: Executor): Promise<{ userId: string; isNew: boolean }>;
  /** Returns the identities of a user, oldest first. */
  list(userId: string): Promise<OwnIdentity[]>;
  /** Whether a user has any identity. */
  hasAny(userId: string, on: Executor): Promise<boolean>;
  /** Removes an identity of a user and returns its provider; undefined if the user has no such identity. */
  remove(id: string, userId: string, on: Executor): Promise<string | undefined>;
  /** Removes the identities of deleted users and of claimed accounts, and those that were added since a change that is undone. */
  revoke: RevocationStep;
}

/** Creates the store of identities. */
export function createIdentities(database: Database): Identities {
  return {
    async findUserAndRecordUsage({ provider, subject, email }) {
      const statement = { name: 'identity_use', text: USE, values: [provider, subject, email] };
      return (await database.write<[string]>(statement))[0]?.[0];
    },
    async link(userId, { provider, subject, email }, on) {
      const values = [newId(), userId, provider, subject, email];
      for (;;) {
        const [row] = await on.write<[string, boolean]>({ text: LINK, values });
        // A concurrent transaction has linked the identity after this statement took its snapshot: read it with a new one.
        if (row !== undefined) return { userId: row[0], isNew: row[1] };
      }
    },
    async list(userId) {
      type Row = [string, string, string | null, string, string];
      const rows = await database.read<Row>({ text: LIST, values: [userId] });
      return rows.map(([id, provider, email, createdAt, lastUsedAt]) => ({
        id,
        provider,
        email,
        createdAt,
        lastUsedAt,
      }));
    },
    async hasAny(userId, on) {
      return (await on.write({ text: HAS_IDENTITY, values: [userId] })).length > 0;
    },
    async remove(id, userId, on) {
      return (await on.write<[string]>({ text: REMOVE, values: [id, userId] }))[0]?.[0];
    },
    async revoke({ cause, userIds, since, firstProof }, { database: on }) {
      if (cause === 'user_deleted' || cause === 'account_claimed' || firstProof)
        await ownedIdentities.remove(on, userIds);
      if (cause === 'email_change_undone') await ownedIdentities.remove(on, userIds, since);
    },
  };
}
