import type { OutboxConsumer } from '../platform/outbox/relay.ts';

/**
 * Runs statements when users are deleted, for what is stored of them elsewhere.
 *
 * @param texts each takes the ids of the users as `$1`
 */
export function whenUsersAreDeleted(...texts: readonly string[]): OutboxConsumer {
  return {
    wants: (row) => row.name === 'user.deleted',
    async handle(rows, tx) {
      const ids = rows.map((row) => row.recordId);
      for (const text of texts) await tx.write({ text, values: [ids] });
      return undefined;
    },
  };
}
