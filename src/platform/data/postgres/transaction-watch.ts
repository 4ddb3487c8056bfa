import { AsyncLocalStorage } from 'node:async_hooks';

/** A transaction in whose function code runs. */
interface WatchedTransaction {
  isOpen(): boolean;
  /** The first work inside the transaction that does not belong there. */
  violation: Error | undefined;
}

const watched = new AsyncLocalStorage<WatchedTransaction | undefined>();

/**
 * Runs the function of a transaction, and refuses work in it that `assertOutsideTransaction` guards: while a transaction waits for a hash, a
 * request or Redis, it holds its locks and its connection. For development and tests: without it, `assertOutsideTransaction` never throws and
 * costs nothing.
 *
 * @param isOpen whether the transaction has begun and not ended
 * @throws Error also if `work` catches the error of refused work, so that no transaction with refused work is committed
 */
export async function watchTransaction<T>(isOpen: () => boolean, work: () => Promise<T>): Promise<T> {
  const transaction: WatchedTransaction = { isOpen, violation: undefined };
  const result = await watched
    .run(transaction, async () => work())
    .catch((error: unknown) => {
      throw transaction.violation ?? error;
    });
  if (transaction.violation !== undefined) throw transaction.violation;
  return result;
}

/**
 * Refuses work that must not run while a transaction is open.
 *
 * @param what the work, as the start of a sentence: `A password is hashed`
 * @throws Error in the function of an open transaction, in development and tests
 */
export function assertOutsideTransaction(what: string): void {
  const transaction = watched.getStore();
  if (!transaction?.isOpen()) return;
  transaction.violation ??= new Error(
    `${what} inside a transaction, whose locks and connection other requests wait for. Do it before the first statement of the transaction, or after the commit. (Belfry checks this in development and tests only.)`,
  );
  throw transaction.violation;
}

/** Runs work that a transaction starts but does not wait for, or that must happen before its commit on purpose. */
export function leaveTransaction<T>(work: () => T): T {
  return watched.getStore() === undefined ? work() : watched.run(undefined, work);
}
