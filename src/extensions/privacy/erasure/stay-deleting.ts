import type { ResourceGateway } from '../../../declare/host.ts';
import type { OutboxConsumer } from '../../../platform/outbox/relay.ts';
import { quoteIdentifier } from '../../../platform/postgres/quote-identifier.ts';

/** Sets the status back that somebody gives a user whose erasure is under way, by a change or by a restore. */
export function stayDeleting(users: ResourceGateway): OutboxConsumer {
  const names = new Set([`${users.name}.updated`, `${users.name}.restored`]);
  const text = `
    update ${quoteIdentifier(users.table)} u set status = 'deleting' from privacy_erasures e
    where u.id = any($1) and e.user_id = u.id and e.status = 'running' and u.status is distinct from 'deleting'`;
  return {
    wants: (row) => names.has(row.name),
    async handle(rows, tx) {
      await tx.write({ text, values: [rows.map((row) => row.recordId)] });
      return undefined;
    },
  };
}
