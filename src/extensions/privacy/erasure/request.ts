import type { ExtensionHost } from '../../../declare/extension.ts';
import type { ResourceGateway } from '../../../declare/host.ts';
import { ApiError } from '../../../platform/errors.ts';
import { isId, newId } from '../../../platform/ids.ts';
import { quoteIdentifier } from '../../../platform/postgres/identifiers.ts';
import { type Erasure, type ErasureRow, toErasure } from './erasure.ts';
import { INSERT_ERASURE, SELECT_ERASURE_OF_USER } from './sql.ts';

/** Starts the erasure of an account. The status of the user becomes `deleting` at once, which ends their sessions and API keys. */
export type RequestErasure = (request: { userId: string; by: string; ip: string }) => Promise<Erasure>;

// Lets one request run at a time: when two admins erase each other at once, the second request must see the first.
const LOCK_ERASURES = `select pg_advisory_xact_lock(hashtextextended('privacy_erasures', 0))`;

/** Creates the function that starts an erasure. For a repeated request it returns the existing erasure. */
export function createRequestErasure(
  { transaction, events, jobs, userData }: Pick<ExtensionHost, 'transaction' | 'events' | 'jobs' | 'userData'>,
  users: ResourceGateway,
): RequestErasure {
  const table = quoteIdentifier(users.table);
  const hasRoles = 'roles' in users.declaration.fields;
  const admin = hasRoles ? `coalesce('admin' = any(roles), false) and status = 'active'` : 'false';
  const findUserSql = `select ${admin} from ${table} where id = $1 for update`;
  const findOtherAdminSql = `select 1 from ${table} where ${admin} and id <> $1 limit 1`;
  const markUserDeletingSql = `update ${table} set status = 'deleting' where id = $1`;
  const findDeletedUserSql =
    users.archiveTable && `select false from ${quoteIdentifier(users.archiveTable)} where id = $1 for update`;

  return async ({ userId, by, ip }) => {
    if (!isId(userId)) throw new ApiError('NOT_FOUND');
    return transaction(async ({ database, afterCommit }) => {
      await database.write({ text: LOCK_ERASURES, values: [] });
      const [existingRow] = await database.write<ErasureRow>({ text: SELECT_ERASURE_OF_USER, values: [userId] });
      if (existingRow !== undefined) return toErasure(existingRow);
      const [userRow] = await database.write<[isAdmin: boolean]>({ text: findUserSql, values: [userId] });
      const [deletedUserRow] =
        userRow === undefined && findDeletedUserSql !== undefined
          ? await database.write<[false]>({ text: findDeletedUserSql, values: [userId] })
          : [];
      if (userRow === undefined && deletedUserRow === undefined) throw new ApiError('NOT_FOUND');
      if (userRow?.[0] && (await database.write({ text: findOtherAdminSql, values: [userId] })).length === 0) {
        throw new ApiError('CONFLICT', 'The last admin cannot be erased');
      }
      for (const { assertErasable } of userData()) await assertErasable?.(userId, { database, afterCommit });
      const [row] = await database.write<ErasureRow>({ text: INSERT_ERASURE, values: [newId(), userId, by] });
      const erasure = toErasure(row!);
      await database.write({ text: markUserDeletingSql, values: [userId] });
      afterCommit(async () => {
        events.emit('security.erasure_requested', { userId, erasureId: erasure.id, by, ip });
        await jobs.add('erase', [erasure.id]);
      });
      return erasure;
    });
  };
}
