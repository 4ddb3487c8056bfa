import type { Host, ResourceGateway, StoredRecord } from '../declare/host.ts';
import { systemContext } from '../records/access/operation-context.ts';
import type { Entity, RecordsContext } from '../records/context.ts';
import { createRecord } from '../records/operations/create.ts';
import type { AccountsContext } from './context.ts';
import { createImport, type ImportLine, type ImportOptions, type ImportProgress } from './import/import.ts';
import { registrationFaults } from './password-rules.ts';

/** A session, as administrators see it. */
interface LiveSession {
  id: string;
  createdAt: string;
  lastUsedAt: string;
  expiresAt: string;
  ip: string;
  userAgent: string;
}

/** What is done with accounts from the command line: as the system, no policy is asked. */
export interface Administration {
  /** The user with an e-mail, however it is written. */
  find(email: string): Promise<StoredRecord | undefined>;
  /**
   * Creates a user with the rules of a registration, open to every field. Emits `user.created`.
   *
   * @throws ApiError VALIDATION_ERROR; CONFLICT when there is one with this e-mail
   */
  create(input: Record<string, unknown>): Promise<StoredRecord>;
  /** The newest users, newest first; with a role, those who have it. */
  list(options: { role?: string | undefined; limit: number }): Promise<StoredRecord[]>;
  /** A user's live sessions, the newest first. */
  sessions(userId: string): Promise<LiveSession[]>;
  /** Ends all of a user's sessions, as `POST /api/auth/logout-all` does. */
  endSessions(userId: string): Promise<void>;
  /** Stores users of another system with the hashes that they have there: see docs/moving-in.md. */
  importUsers(lines: AsyncIterable<ImportLine>, options?: ImportOptions): Promise<ImportProgress>;
}

export function createAdministration(
  host: Host,
  context: RecordsContext,
  entity: Entity,
  gateway: ResourceGateway,
  { users, sessions, revoke }: Pick<AccountsContext, 'users' | 'sessions' | 'revoke'>,
): Administration {
  const { service } = context;
  const roles = entity.resource.field.get('roles')?.column;
  const newest = (where: string) =>
    `select ${gateway.columns('u')} from "${gateway.table}" u ${where} order by u."id" desc limit $1`;

  return {
    find: async (email) => (await users.findForLogin(email.trim().toLowerCase()))?.user,
    create(input) {
      return createRecord(context, entity, input, systemContext(service), { check: registrationFaults });
    },
    async list({ role, limit }) {
      if (role !== undefined && roles === undefined) return [];
      const where = role === undefined ? '' : `where $2 = any(u."${roles}")`;
      const values = role === undefined ? [limit] : [limit, role];
      return (await host.database.readSlowly({ text: newest(where), values })).map((row) => gateway.fromRow(row));
    },
    async sessions(userId) {
      const listed = await sessions.list(userId, '');
      return listed.map(({ current: _, ...session }) => session);
    },
    endSessions: (userId) => host.transaction((tx) => revoke({ cause: 'logout_all', userIds: [userId] }, tx)),
    importUsers: createImport(host.database, context, entity),
  };
}
