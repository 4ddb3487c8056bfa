import type { ResourceView } from '../declare/host.ts';
import type { OutboxConsumer } from '../platform/outbox/relay.ts';
import type { OutboxRow } from '../platform/outbox/table.ts';
import type { Executor } from '../platform/postgres/database.ts';
import { quoteIdentifier } from '../platform/postgres/quote-identifier.ts';

/** Gives which of the users of these deletions are gone: with soft delete one may have been restored before the relay came by. */
export async function goneUsers(
  rows: readonly OutboxRow[],
  tx: Executor,
  { table }: Pick<ResourceView, 'table'>,
): Promise<string[]> {
  const deleted = rows.map((row) => row.recordId!);
  if (deleted.length === 0) return [];
  const text = `select id from unnest($1::text[]) as deleted(id) except select id from ${quoteIdentifier(table)} where id = any($1)`;
  return (await tx.write<[string]>({ text, values: [deleted] })).map(([id]) => id);
}

/**
 * Runs statements when users are deleted, for what is stored of them elsewhere.
 *
 * @param texts each takes the ids of the users as `$1`
 */
export function whenUsersAreDeleted(users: Pick<ResourceView, 'table'>, ...texts: readonly string[]): OutboxConsumer {
  return {
    wants: (row) => row.name === 'user.deleted',
    async handle(rows, tx) {
      const ids = await goneUsers(rows, tx, users);
      if (ids.length > 0) for (const text of texts) await tx.write({ text, values: [ids] });
      return undefined;
    },
  };
}
