import type { Database } from '../../platform/postgres/database.ts';
import { inLazyTransaction } from '../../platform/postgres/lazy-transaction.ts';
import { retryContended } from '../../platform/postgres/retry.ts';
import type { RecordsContext } from '../context.ts';
import { createAfterCommitQueue } from './after-commit.ts';
import { contextWithin } from './transaction.ts';
import type { TransactionGuard } from './transaction-guard.ts';

/**
 * Makes what joins a write with the writes of its `before` hook, outside of transactions: the first write of the hook's service
 * begins a transaction, in which the record is then written, too. A hook that writes nothing costs none.
 *
 * @param outside the context outside of any transaction
 */
export function createWithTransaction(
  outside: () => RecordsContext,
  database: Database,
  transactions: TransactionGuard,
): RecordsContext['withTransaction'] {
  return async (entity, operation, work, { always = false } = {}) => {
    const { log } = outside();
    const attempt = async () => {
      const afterCommit = createAfterCommitQueue(log);
      const result = await inLazyTransaction(database, (lazy) => {
        const within = { database: lazy.opening, afterCommit: afterCommit.add, abort: lazy.abort };
        const context = contextWithin(outside(), within);
        const own = { ...entity, store: entity.store.on(always ? lazy.opening : lazy.following) };
        const who = { ...operation, service: context.service };
        return transactions.run(within, () => work(context, own, who), lazy.isOpen);
      });
      if (result !== undefined) await afterCommit.run();
      return result;
    };
    // Without the step, the write would be a single statement, which is retried as well.
    return always ? retryContended(attempt) : attempt();
  };
}
