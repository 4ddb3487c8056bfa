import type { Host, ResourceGateway, StoredRecord } from '../declare/host.ts';
import { createSystemContext } from '../records/access/operation-context.ts';
import type { RecordsContext } from '../records/operations/context.ts';
import { createRecord } from '../records/operations/create.ts';
import type { Entity } from '../records/store/entity.ts';
import type { AccountsDependencies } from './context.ts';
import { createImport, type ImportLine, type ImportOptions, type ImportProgress } from './import/import.ts';
import { registrationPasswordErrors } from './passwords/password-rules.ts';

/** A session, as an administrator sees it. */
interface LiveSession {
  id: string;
  createdAt: string;
  lastUsedAt: string;
  expiresAt: string;
  ip: string;
  userAgent: string;
  method: string;
  authenticatedAt: string;
}

/** Account operations of the admin command line. The operations run as the system: no policy applies. */
export interface Administration {
  /** Returns the user with this e-mail address; case and surrounding space do not matter. */
  find(email: string): Promise<StoredRecord | undefined>;
  /**
   * Creates a user. Values are validated as in a registration, but every field may be set. Emits `user.created`.
   *
   * @throws ApiError VALIDATION_ERROR; CONFLICT if a user with this e-mail address exists
   */
  create(input: Record<string, unknown>): Promise<StoredRecord>;
  /** Returns the newest users first; with `role`, only users who have that role. */
  list(options: { role?: string | undefined; limit: number }): Promise<StoredRecord[]>;
  /** Returns a user's live sessions, newest first. */
  sessions(userId: string): Promise<LiveSession[]>;
  /** Ends all of a user's sessions, as `POST /api/auth/logout-all` does. */
  endSessions(userId: string): Promise<void>;
  /** Imports users of another system together with their password hashes: see docs/users/moving-in.md. */
  importUsers(lines: AsyncIterable<ImportLine>, options?: ImportOptions): Promise<ImportProgress>;
}

export function createAdministration(
  host: Host,
  context: RecordsContext,
  entity: Entity,
  gateway: ResourceGateway,
  { users, sessions, revoke }: Pick<AccountsDependencies, 'users' | 'sessions' | 'revoke'>,
): Administration {
  const { service } = context;
  const roles = entity.resource.field.get('roles')?.column;
  const newestUsersSql = (where: string) =>
    `select ${gateway.columns('u')} from "${gateway.table}" u ${where} order by u."id" desc limit $1`;

  return {
    find: async (email) => (await users.findAccountByEmail(email.trim().toLowerCase()))?.user,
    create(input) {
      return createRecord(context, entity, input, createSystemContext(service), { check: registrationPasswordErrors });
    },
    async list({ role, limit }) {
      if (role !== undefined && roles === undefined) return [];
      const where = role === undefined ? '' : `where $2 = any(u."${roles}")`;
      const values = role === undefined ? [limit] : [limit, role];
      return (await host.database.readSlowly({ text: newestUsersSql(where), values })).map((row) =>
        gateway.fromRow(row),
      );
    },
    async sessions(userId) {
      const listed = await sessions.listLiveSessions(userId, '');
      return listed.map(({ current: _, ...session }) => session);
    },
    endSessions: (userId) => host.transaction((tx) => revoke({ cause: 'logout_all', userIds: [userId] }, tx)),
    importUsers: createImport(context, entity),
  };
}
