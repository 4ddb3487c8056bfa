import type { ExtensionHost } from '../../../declare/extension.ts';
import type { ResourceGateway } from '../../../declare/host.ts';
import { ApiError } from '../../../platform/errors.ts';
import { isId, newId } from '../../../platform/ids.ts';
import { quoteIdentifier } from '../../../platform/postgres/identifiers.ts';
import { type Erasure, type ErasureRow, toErasure } from './erasure.ts';
import { OF_USER, REQUEST } from './sql.ts';

/** Starts the erasure of an account. The status of the user becomes `deleting` at once, which ends their sessions and API keys. */
export type RequestErasure = (request: { userId: string; by: string; ip: string }) => Promise<Erasure>;

// Lets one request run at a time: when two admins erase each other at once, the second request must see the first.
const LOCK = `select pg_advisory_xact_lock(hashtextextended('privacy_erasures', 0))`;

/** Creates the function that starts an erasure. For a repeated request it returns the existing erasure. */
export function createRequestErasure(
  { transaction, events, jobs }: Pick<ExtensionHost, 'transaction' | 'events' | 'jobs'>,
  users: ResourceGateway,
): RequestErasure {
  const table = quoteIdentifier(users.table);
  const hasRoles = 'roles' in users.declaration.fields;
  const admin = hasRoles ? `coalesce('admin' = any(roles), false) and status = 'active'` : 'false';
  const find = `select ${admin} from ${table} where id = $1 for update`;
  const otherAdmin = `select 1 from ${table} where ${admin} and id <> $1 limit 1`;
  const mark = `update ${table} set status = 'deleting' where id = $1`;
  const findDeleted =
    users.archiveTable && `select false from ${quoteIdentifier(users.archiveTable)} where id = $1 for update`;

  return async ({ userId, by, ip }) => {
    if (!isId(userId)) throw new ApiError('NOT_FOUND');
    return transaction(async ({ database, afterCommit }) => {
      await database.write({ text: LOCK, values: [] });
      const [known] = await database.write<ErasureRow>({ text: OF_USER, values: [userId] });
      if (known !== undefined) return toErasure(known);
      const [live] = await database.write<[isAdmin: boolean]>({ text: find, values: [userId] });
      const [gone] =
        live === undefined && findDeleted !== undefined
          ? await database.write<[false]>({ text: findDeleted, values: [userId] })
          : [];
      if (live === undefined && gone === undefined) throw new ApiError('NOT_FOUND');
      if (live?.[0] && (await database.write({ text: otherAdmin, values: [userId] })).length === 0) {
        throw new ApiError('CONFLICT', 'The last admin cannot be erased');
      }
      const [row] = await database.write<ErasureRow>({ text: REQUEST, values: [newId(), userId, by] });
      const erasure = toErasure(row!);
      await database.write({ text: mark, values: [userId] });
      afterCommit(async () => {
        events.emit('security.erasure_requested', { userId, erasureId: erasure.id, by, ip });
        await jobs.add('erase', [erasure.id]);
      });
      return erasure;
    });
  };
}
