import { AsyncLocalStorage } from 'node:async_hooks';

/** Knows what runs inside of a transaction's function. */
export interface TransactionGuard {
  /** Runs the function of a transaction. */
  run<T>(work: () => Promise<T>): Promise<T>;
  /**
   * Services that work on other connections would wait for what the transaction has changed, and it for them.
   *
   * @throws Error while the transaction runs
   */
  assertOutside(): void;
}

/** Makes the guard of an app's transactions. */
export function createTransactionGuard(): TransactionGuard {
  const running = new AsyncLocalStorage<{ ended: boolean }>();
  return {
    async run(work) {
      const own = { ended: false };
      try {
        return await running.run(own, work);
      } finally {
        // What it has started and not waited for goes on outside.
        own.ended = true;
      }
    },
    assertOutside() {
      if (running.getStore()?.ended === false) {
        throw new Error('app.service(…) inside a transaction works on another connection: use tx.service');
      }
    },
  };
}
