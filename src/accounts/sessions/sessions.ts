import type { IncomingHttpHeaders } from 'node:http';
import type { Authenticator } from '../../declare/authenticator.ts';
import type { Host, ResourceGateway } from '../../declare/host.ts';
import type { RevocationStep } from '../../declare/revocation.ts';
import { generateToken, hashToken } from '../../platform/data/crypto/token.ts';
import { index, pgTable, text, timestamptz } from '../../platform/data/postgres/drizzle.ts';
import { newId } from '../../platform/helpers/ids.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import type { Entity } from '../../records/store/entity.ts';
import { storedHashSql } from '../passwords/password-hash.ts';
import { defineOwnedTable } from '../users/owned-table.ts';
import { AUTHENTICATED_AT, createSessionAuthenticator } from './authenticator.ts';

/** The live sessions of users. Only the SHA-256 of a session's token is stored. Ending a session deletes its row. */
export const sessions = pgTable(
  'sessions',
  {
    id: text('id').primaryKey(),
    userId: text('user_id').notNull(),
    tokenHash: text('token_hash').notNull().unique(),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    lastUsedAt: timestamptz('last_used_at').notNull().defaultNow(),
    expiresAt: timestamptz('expires_at').notNull(),
    ip: text('ip').notNull(),
    userAgent: text('user_agent').notNull(),
    /** How the user signed in: `password`, `email_link`, `oidc:google`. */
    method: text('method').notNull().default('password'),
    /** When the user last proved who they are in this session; null: when it was created. */
    authenticatedAt: timestamptz('authenticated_at'),
    /** The id of the organisation that the session works in by default; null if the user has chosen none. */
    organisation: text('organisation'),
  },
  (table) => [index('sessions_user_id_index').on(table.userId), index('sessions_expires_at_index').on(table.expiresAt)],
);

/** The sessions as rows of users. Uses index sessions_user_id_index. The foreign key removes the devices of a session with it. */
export const ownedSessions = defineOwnedTable(sessions);

/** Maximum number of sessions in a list: more than a person would read. */
const MAX_LISTED = 1000;

// The lock on the user orders this insert against a password change: either the change sees this session and ends it, or this
// insert sees that the checked password has been replaced and starts no session.
const INSERT = `
  with owner as (
    select u."id" from %users% u where u."id" = $2 and ($7::text is null or %hash% = $7)
      and (not $9::boolean or %unverified%) for share
  )
  insert into "sessions" ("id", "user_id", "token_hash", "expires_at", "ip", "user_agent", "method")
  select $1, owner."id", $3, now() + $4::float8 * interval '1 day', $5, $6, $8 from owner returning "expires_at"`;
// These use index sessions_pkey.
const CHOOSE_ORGANISATION = 'update "sessions" set "organisation" = $2 where "id" = $1';
const RENEW_RECENT = 'update "sessions" set "authenticated_at" = now() where "id" = $1';
// Uses index sessions_user_id_index.
const LIST = `
  select "id", "created_at", "last_used_at", "expires_at", "ip", "user_agent", "method", ${AUTHENTICATED_AT} from "sessions"
  where "user_id" = $1 and "expires_at" > now() order by "id" = $2 desc, "created_at" desc, "id" desc limit ${MAX_LISTED}`;
// The foreign key removes the devices of a session with it.
const REMOVE = 'delete from "sessions" where "id" = $1 and "user_id" = $2 returning 1';
const REMOVE_ALL = 'delete from "sessions" where "user_id" = any($1) and "id" is distinct from $2';

type ListedRow = [string, string, string, string, string, string, string, string];

/** The client that a session is started for. Usually a request. */
type SessionClient = Parameters<typeof addressOf>[0] & { headers: Pick<IncomingHttpHeaders, 'user-agent'> };

/** A new session. The token is returned here and never again. */
interface NewSession {
  token: string;
  /** When the session expires, ISO 8601. */
  expiresAt: string;
}

/** A session as its own user sees it. */
interface OwnSession {
  id: string;
  /** Whether the request that lists the sessions uses this session. */
  current: boolean;
  createdAt: string;
  lastUsedAt: string;
  expiresAt: string;
  ip: string;
  userAgent: string;
  method: string;
  /** When the user last proved who they are in this session, ISO 8601. */
  authenticatedAt: string;
}

/** Under which conditions a session starts, and how the user signed in. */
interface SessionStart {
  /** The hash that the credential was checked against; no session starts if it has been replaced since. */
  passwordHash?: string;
  /** Default: `password`. */
  method?: string;
  /** Whether no session starts if the address is verified. For a registration, whose account the owner of the address may have claimed. */
  unlessVerified?: boolean;
}

/** The sessions of users. Ending a session takes effect at once in every process and removes the devices bound to it. */
export interface Sessions {
  /**
   * Starts a session for a user, with the address and user agent of the client.
   *
   * @returns undefined if the user no longer exists, or a condition in `start` is not met
   */
  startSession(userId: string, client: SessionClient, start?: SessionStart): Promise<NewSession | undefined>;
  /** Records that the user of a session has just proved who they are. */
  renewRecentSignIn(id: string): Promise<void>;
  /** Sets the organisation that a session works in by default; undefined: none. */
  chooseOrganisation(id: string, organisation: string | undefined): Promise<void>;
  /** Returns the live sessions of a user: the current one first, then the newest. */
  listLiveSessions(userId: string, currentId: string): Promise<OwnSession[]>;
  /** Ends a session of a user. Returns false if the user has no such session. */
  endSession(id: string, userId: string): Promise<boolean>;
  /** Ends all sessions of users except `exceptSession`. */
  revoke: RevocationStep;
  authenticator: Authenticator;
}

/**
 * Creates the session store of an app.
 *
 * @param users the gateway of the user resource; its records become the `user` of policies
 */
export function createSessions(host: Host, { resource }: Entity, users: ResourceGateway): Sessions {
  const { database, settings } = host;
  const hash = storedHashSql(resource.field.get('password')!.column);
  const verifiedAt = resource.field.get('emailVerifiedAt')?.column;
  const unverified = verifiedAt === undefined ? 'true' : `u."${verifiedAt}" is null`;
  const insert = INSERT.replace('%users%', `"${users.table}"`)
    .replace('%hash%', hash)
    .replace('%unverified%', unverified);

  return {
    async startSession(userId, client, { passwordHash, method = 'password', unlessVerified = false } = {}) {
      const token = generateToken();
      const agent = String(client.headers['user-agent'] ?? '')
        .slice(0, 512)
        .toWellFormed();
      const { sessionTtlDays } = settings.auth;
      const values = [
        newId(),
        userId,
        hashToken(token),
        sessionTtlDays,
        addressOf(client),
        agent,
        passwordHash,
        method,
        unlessVerified,
      ];
      const [row] = await database.write<[expiresAt: string]>({ name: 'session_insert', text: insert, values });
      return row && { token, expiresAt: row[0] };
    },
    async listLiveSessions(userId, currentId) {
      const rows = await database.read<ListedRow>({ name: 'session_list', text: LIST, values: [userId, currentId] });
      return rows.map(([id, createdAt, lastUsedAt, expiresAt, ip, userAgent, method, authenticatedAt]) => ({
        id,
        current: id === currentId,
        createdAt,
        lastUsedAt,
        expiresAt,
        ip,
        userAgent,
        method,
        authenticatedAt,
      }));
    },
    async renewRecentSignIn(id) {
      await database.write({ name: 'session_renew_recent', text: RENEW_RECENT, values: [id] });
    },
    async chooseOrganisation(id, organisation) {
      await database.write({ name: 'session_choose', text: CHOOSE_ORGANISATION, values: [id, organisation] });
    },
    async endSession(id, userId) {
      return (await database.write({ name: 'session_remove', text: REMOVE, values: [id, userId] })).length > 0;
    },
    async revoke({ cause, userIds, exceptSession }, tx) {
      if (cause !== 'key_revoked') await tx.database.write({ text: REMOVE_ALL, values: [userIds, exceptSession] });
    },
    authenticator: createSessionAuthenticator(host, users),
  };
}
