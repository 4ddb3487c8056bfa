import type { Request } from 'express';
import type { Authenticator, Host, ResourceView, StoredRecord } from '../declare/host.ts';
import type { Viewer } from '../declare/policy.ts';
import { hashToken, isWellFormedToken, newToken } from '../platform/crypto/token.ts';
import { invalidSession } from '../platform/errors.ts';
import { addressOf } from '../platform/http/client-address.ts';
import { newId } from '../platform/ids.ts';
import { createLoader } from '../platform/postgres/loader.ts';

const DAY_MS = 86_400_000;
const REFRESH_MS = 5 * 60_000;

// Both rely on sessions_token_hash_unique. The user's record comes along: one round trip a request, shared by those that came in together.
const FIND = `
  select s."token_hash", s."id", s."last_used_at", %columns% from "sessions" s join %users% u on u."id" = s."user_id"
  where s."token_hash" = any($1) and s."expires_at" > now()`;
const TOUCH = `update "sessions" set "last_used_at" = now() where "id" = $1 and "last_used_at" < now() - interval '5 minutes'`;
const INSERT = `
  insert into "sessions" ("id", "user_id", "token_hash", "expires_at", "ip", "user_agent")
  values ($1, $2, $3, $4, $5, $6)`;
const REMOVE = 'delete from "sessions" where "id" = $1';

type FoundRow = [tokenHash: string, id: string, lastUsedAt: string, ...user: unknown[]];

/** A session as its creator gets it: the only time that the token is seen. */
export interface NewSession {
  token: string;
  /** ISO 8601. */
  expiresAt: string;
}

/** Sessions of users. */
export interface Sessions {
  /** Starts a session for a user; the request gives address and user agent. */
  start(userId: string, req: Request): Promise<NewSession>;
  /** Ends a session at once, in every process. */
  end(id: string): Promise<void>;
  authenticator: Authenticator;
}

/** @param users the user resource: its records are what policies see as the user */
export function createSessions(host: Host, users: ResourceView): Sessions {
  const { database, settings, log } = host;
  const find = FIND.replace('%users%', `"${users.table}"`).replace('%columns%', users.columns('u'));

  const look = createLoader(
    (hashes) => database.read<FoundRow>({ name: 'session_find', text: find, values: [hashes] }),
    ([tokenHash]) => tokenHash,
  );

  /** At most every 5 minutes, and never in the way of the request. */
  function touch(id: string, lastUsedAt: string): void {
    if (Date.now() - Date.parse(lastUsedAt) < REFRESH_MS) return;
    database
      .write({ name: 'session_touch', text: TOUCH, values: [id] })
      .catch((error) => log.warn({ err: error }, 'lastUsedAt of a session was not refreshed'));
  }

  return {
    async start(userId, req) {
      const token = newToken();
      const expiresAt = new Date(Date.now() + settings.auth.sessionTtlDays * DAY_MS).toISOString();
      const agent = String(req.headers['user-agent'] ?? '')
        .slice(0, 512)
        .toWellFormed();
      const values = [newId(), userId, hashToken(token), expiresAt, addressOf(req), agent];
      await database.write({ name: 'session_insert', text: INSERT, values });
      return { token, expiresAt };
    },
    async end(id) {
      await database.write({ name: 'session_remove', text: REMOVE, values: [id] });
    },
    authenticator: {
      scheme: {
        name: 'session',
        description: 'The token that a login or a registration gave.',
        bearerFormat: 'svc_…',
      },
      recognizes: isWellFormedToken,
      async authenticate(token) {
        const row = await look(hashToken(token));
        if (row === undefined) throw invalidSession();
        const [, id, lastUsedAt, ...columns] = row;
        const user: StoredRecord & Viewer = users.fromRow(columns);
        if (user.status !== undefined && user.status !== 'active') throw invalidSession();
        touch(id, lastUsedAt);
        return { user, auth: { via: 'session', scopes: ['*'], id } };
      },
    },
  };
}
