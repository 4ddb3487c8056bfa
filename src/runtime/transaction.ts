import type { Transact, Transaction } from '../declare/transaction.ts';
import type { MailSender } from '../platform/mail/sender.ts';
import type { Platform } from '../platform/platform.ts';
import { inTransaction } from '../platform/postgres/transaction.ts';
import type { Push } from '../push/index.ts';
import type { Records } from '../records/index.ts';
import { contextWithin, createAfterCommitQueue } from '../records/transaction/transaction.ts';

/** `app.transaction`: records and pushes in one transaction. */
export function createTransact(
  { database, log }: Platform,
  records: Records,
  { push, mail }: { push: Push; mail: MailSender },
): Transact {
  return async (work) => {
    const afterCommit = createAfterCommitQueue(log);
    const result = await database.transaction(async ({ client }) => {
      const statements = inTransaction(client);
      const within = { database: statements, afterCommit: afterCommit.add, abort: statements.abort };
      try {
        const tx: Transaction = {
          database: statements,
          afterCommit: afterCommit.add,
          service: contextWithin(records.context, within).service,
          push: { enqueue: (message) => push.enqueueWithin(within, message) },
          mail: { send: (message) => mail.send(message, within) },
        };
        return await records.transactions.run(tx, () => work(tx));
      } finally {
        await statements.end();
      }
    });
    await afterCommit.run();
    return result;
  };
}
