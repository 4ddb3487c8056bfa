import { AsyncLocalStorage } from 'node:async_hooks';
import type { Transaction } from '../../declare/service.ts';

/** The part of a transaction that its statements need. */
type Statements = Pick<Transaction, 'database' | 'afterCommit'>;

/** Tracks which code runs inside a transaction's function. */
export interface TransactionGuard {
  /**
   * Runs the function of a transaction.
   *
   * @param isOpen whether the transaction has begun; needed only for a transaction that begins with its first statement
   */
  run<T>(transaction: Statements, work: () => Promise<T>, isOpen?: () => boolean): Promise<T>;
  /** The transaction that the calling function belongs to. */
  current(): Statements | undefined;
  /**
   * Refuses service calls that use another connection than the transaction: they would wait for its locks, while the transaction waits for
   * them.
   *
   * @throws Error if called in a transaction's function while the transaction runs
   */
  assertOutside(): void;
}

/** Creates the guard of an app's transactions. */
export function createTransactionGuard(): TransactionGuard {
  const running = new AsyncLocalStorage<{ transaction: Statements; isOpen: () => boolean; ended: boolean }>();
  const current = () => {
    const own = running.getStore();
    return own === undefined || own.ended ? undefined : own;
  };
  return {
    current: () => current()?.transaction,
    async run(transaction, work, isOpen = () => true) {
      const own = { transaction, isOpen, ended: false };
      try {
        return await running.run(own, work);
      } finally {
        // Work that the function started and did not await continues outside the transaction.
        own.ended = true;
      }
    },
    assertOutside() {
      if (current()?.isOpen()) {
        throw new Error(
          'app.service(…) uses another connection, so it cannot be called inside a transaction; use tx.service, or the service of the hook',
        );
      }
    },
  };
}
