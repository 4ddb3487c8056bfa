import type { ResourceView } from '../declare/host.ts';
import type { OutboxConsumer } from '../platform/outbox/relay.ts';
import type { OutboxRow } from '../platform/outbox/table.ts';
import type { Executor } from '../platform/postgres/database.ts';
import { quoteIdentifier } from '../platform/postgres/quote-identifier.ts';

type Users = Pick<ResourceView, 'table' | 'archiveTable'>;

/**
 * Returns which of the users of these deletions are gone: with soft delete one may have been restored before the relay came by. They
 * cannot be restored before the transaction ends, so that what it removes was never stored by a restored user.
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
 * Cleans up after users who were deleted, in the relay. Their credentials ended in the transaction of the deletion, by revocation steps:
 * this is for the rows that stay behind.
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
