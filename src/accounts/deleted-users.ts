import type { ResourceGateway } from '../declare/host.ts';
import type { OutboxConsumer } from '../platform/outbox/relay.ts';
import type { OutboxRow } from '../platform/outbox/table.ts';
import type { Executor } from '../platform/postgres/database.ts';
import { quoteIdentifier } from '../platform/postgres/quote-identifier.ts';

type Users = Pick<ResourceGateway, 'table' | 'archiveTable'>;

/**
 * Returns which of the users in these deletions are still deleted: with soft delete, a user may have been restored before the relay runs.
 * The users returned cannot be restored until the transaction ends, so nothing that a restored user stored is removed.
 */
export async function goneUsers(
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
 * Removes the remaining rows of deleted users, in the relay. Revocation steps have ended their credentials in the transaction of the
 * deletion.
 *
 * @param texts each takes the ids of the users as `$1`
 */
export function whenUsersAreDeleted(users: Users, ...texts: readonly string[]): OutboxConsumer {
  return {
    wants: (row) => row.name === 'user.deleted',
    async handle(rows, tx) {
      const ids = await goneUsers(rows, tx, users);
      if (ids.length > 0) for (const text of texts) await tx.write({ text, values: [ids] });
      return undefined;
    },
  };
}
