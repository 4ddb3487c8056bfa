import type { ResourceGateway } from '../../declare/host.ts';
import type { Executor } from '../../platform/data/postgres/database.ts';
import { quoteIdentifier } from '../../platform/data/postgres/identifiers.ts';
import type { OutboxConsumer } from '../../platform/work/outbox/consumer.ts';
import type { OutboxRow } from '../../platform/work/outbox/table.ts';
import type { OwnedTable } from './owned-table.ts';

/** The part of the user resource that SQL statements need. */
export type UserTable = Pick<ResourceGateway, 'table' | 'declaration'>;

/**
 * Returns an SQL condition that is true if a user is active; the same rule as `isAccountActive` applies to loaded users.
 *
 * @param alias of the users table in the statement
 */
export function activeUserSql({ declaration }: Pick<UserTable, 'declaration'>, alias: string): string {
  return 'status' in declaration.fields ? `coalesce(${alias}."status", 'active') = 'active'` : 'true';
}

/**
 * Returns a SQL join that adds `owner.active`: true if the user exists and is active, otherwise null. Each user is looked up by
 * primary key (`offset 0` keeps the planner from reading the whole table instead).
 *
 * @param users undefined in an app without accounts, where every user id counts as active
 * @param userId a SQL expression over the tables before the join
 */
export function activeOwnerJoinSql(users: UserTable | undefined, userId: string): string {
  if (users === undefined) return 'cross join (select true as active) owner';
  const found = `select true as active from ${quoteIdentifier(users.table)} u where u."id" = ${userId} and ${activeUserSql(users, 'u')}`;
  return `left join lateral (${found} offset 0) owner on true`;
}

type Users = Pick<ResourceGateway, 'table' | 'archiveTable'>;

/**
 * Returns the ids of the users in these `user.deleted` rows who are still deleted. With soft delete, a user may have been restored
 * before the relay runs. The returned users cannot be restored until the transaction ends, so no data of a restored user is removed.
 */
export async function lockStillDeletedUsers(
  rows: readonly OutboxRow[],
  tx: Executor,
  { table, archiveTable }: Users,
): Promise<string[]> {
  const deleted = rows.map((row) => row.recordId!);
  if (deleted.length === 0) return [];
  if (archiveTable !== undefined) {
    const lock = `select from ${quoteIdentifier(archiveTable)} where id = any($1) order by id for key share`;
    await tx.write({ text: lock, values: [deleted] });
  }
  const text = `select id from unnest($1::text[]) as deleted(id) except select id from ${quoteIdentifier(table)} where id = any($1)`;
  return (await tx.write<[string]>({ text, values: [deleted] })).map(([id]) => id);
}

/**
 * Creates a relay consumer that removes the remaining rows of deleted users. Revocation steps have already ended their credentials
 * in the transaction of the deletion.
 *
 * @param removals tables, or SQL statements that take the ids of the users as `$1`
 */
export function createDeletedUsersConsumer(
  users: Users,
  ...removals: readonly (Pick<OwnedTable, 'remove'> | string)[]
): OutboxConsumer {
  return {
    wants: (row) => row.name === 'user.deleted',
    async handle(rows, tx) {
      const ids = await lockStillDeletedUsers(rows, tx, users);
      if (ids.length === 0) return undefined;
      for (const removal of removals) {
        if (typeof removal === 'string') await tx.write({ text: removal, values: [ids] });
        else await removal.remove(tx, ids);
      }
      return undefined;
    },
  };
}
