import type { Transact, Transaction } from '../declare/transaction.ts';
import type { MailSender } from '../platform/mail/sender.ts';
import type { Platform } from '../platform/platform.ts';
import { inTransaction } from '../platform/postgres/transaction.ts';
import type { Push } from '../push/index.ts';
import type { Records } from '../records/index.ts';
import { servicesWithin } from '../records/transaction.ts';

/** `app.transaction`: records and pushes in one transaction. */
export function createTransact(
  { database, log }: Platform,
  records: Records,
  { push, mail }: { push: Push; mail: MailSender },
): Transact {
  return async (work) => {
    const committed: (() => unknown)[] = [];
    const afterCommit: Transaction['afterCommit'] = (then) => void committed.push(then);
    const result = await database.transaction(async ({ client }) => {
      const statements = inTransaction(client);
      const within = { database: statements, afterCommit };
      try {
        const tx: Transaction = {
          ...within,
          service: servicesWithin(records.context, within),
          push: { enqueue: (message) => push.enqueueWithin(within, message) },
          mail: { send: (message) => mail.send(message, within) },
        };
        return await records.transactions.run(tx, () => work(tx));
      } finally {
        await statements.end();
      }
    });
    for (const then of committed) {
      try {
        await then();
      } catch (error) {
        // What is committed stays committed: its caller must not take it for failed.
        log.error({ err: error }, 'what should follow a commit failed');
      }
    }
    return result;
  };
}
