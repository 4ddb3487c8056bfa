import {
  type Accounts,
  ApiError,
  type ExtensionHost,
  isId,
  newId,
  quoteIdentifier,
  type ResourceGateway,
} from '../../../extension/index.ts';
import { type Erasure, type ErasureRow, toErasure } from './erasure.ts';
import { INSERT_ERASURE, SELECT_ERASURE_OF_USER } from './sql.ts';

/** Starts the erasure of an account. The status of the user becomes `deleting` at once, which ends their sessions and API keys. */
export type RequestErasure = (request: { userId: string; by: string; ip: string }) => Promise<Erasure>;

/** Creates the function that starts an erasure. For a repeated request it returns the existing erasure. */
export function createRequestErasure(
  { transaction, events, jobs, userData }: Pick<ExtensionHost, 'transaction' | 'events' | 'jobs' | 'userData'>,
  { lockUser, power }: Pick<Accounts, 'lockUser' | 'power'>,
  users: ResourceGateway,
): RequestErasure {
  const table = quoteIdentifier(users.table);
  const markUserDeletingSql = `update ${table} set status = 'deleting' where id = $1`;
  const findDeletedUserSql =
    users.archiveTable && `select from ${quoteIdentifier(users.archiveTable)} where id = $1 for update`;

  return async ({ userId, by, ip }) => {
    if (!isId(userId)) throw new ApiError('NOT_FOUND');
    return transaction(async ({ database, afterCommit }) => {
      // When two admins erase each other at once, the second request must see the first.
      await power.lock(database);
      const [existingRow] = await database.write<ErasureRow>({ text: SELECT_ERASURE_OF_USER, values: [userId] });
      if (existingRow !== undefined) return toErasure(existingRow);
      const locked = await lockUser(userId, database);
      const deletedUsers =
        locked === undefined && findDeletedUserSql !== undefined
          ? await database.write({ text: findDeletedUserSql, values: [userId] })
          : [];
      if (locked === undefined && deletedUsers.length === 0) throw new ApiError('NOT_FOUND');
      if (locked !== undefined)
        await power.assertNotLastAdministrator(locked.user, database, 'The last admin cannot be erased');
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
