import { AsyncLocalStorage } from 'node:async_hooks';
import type { Transaction } from '../declare/transaction.ts';

/** Knows what runs inside of a transaction's function. */
export interface TransactionGuard {
  /** Runs the function of a transaction. */
  run<T>(transaction: Transaction, work: () => Promise<T>): Promise<T>;
  /** The transaction in whose function the caller runs. */
  current(): Transaction | undefined;
  /**
   * Services that work on other connections would wait for what the transaction has changed, and it for them.
   *
   * @throws Error while the transaction runs
   */
  assertOutside(): void;
}

/** Makes the guard of an app's transactions. */
export function createTransactionGuard(): TransactionGuard {
  const running = new AsyncLocalStorage<{ transaction: Transaction; ended: boolean }>();
  const current = () => {
    const own = running.getStore();
    return own === undefined || own.ended ? undefined : own.transaction;
  };
  return {
    current,
    async run(transaction, work) {
      const own = { transaction, ended: false };
      try {
        return await running.run(own, work);
      } finally {
        // What it has started and not waited for goes on outside.
        own.ended = true;
      }
    },
    assertOutside() {
      if (current() !== undefined) {
        throw new Error('app.service(…) inside a transaction works on another connection: use tx.service');
      }
    },
  };
}
