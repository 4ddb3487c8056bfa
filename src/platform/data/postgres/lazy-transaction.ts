import type { Database } from './database.ts';
import type { Queryable } from './queryable.ts';
import { createTransactionStatements, TransactionEndedError, type TransactionStatements } from './transaction.ts';

/** A transaction that is opened only if a statement needs it. */
export interface LazyTransaction {
  /** Runs statements. Its first write opens the transaction. */
  opening: Queryable;
  /** Runs statements in the transaction if it is open, otherwise outside it. */
  following: Queryable;
  isOpen(): boolean;
  /** Makes the transaction fail with this error at its end, see `TransactionStatements.abort`. Does nothing if it is not open. */
  abort(error: unknown): Promise<void>;
}

/**
 * Runs `work` in a transaction that begins with the first write of `opening`. Without such a write, no transaction is opened and no
 * connection is held.
 *
 * @param options `refusesLateStatements`: whether statements after the end of `work` fail. Default: they run outside the transaction
 * @returns the result of `work`. The transaction is committed, or rolled back if the result is undefined or `work` rejects
 */
export async function runInLazyTransaction<T>(
  database: Pick<Database, keyof Queryable | 'transaction' | 'watch'>,
  work: (lazy: LazyTransaction) => Promise<T>,
  { refusesLateStatements = false }: { refusesLateStatements?: boolean } = {},
): Promise<T> {
  const decided = Promise.withResolvers<boolean>();
  let opened: Promise<TransactionStatements> | undefined;
  let closed: Promise<void> | undefined;
  let ended = false;

  function openTransaction(): Promise<TransactionStatements> {
    const { promise, resolve, reject } = Promise.withResolvers<TransactionStatements>();
    closed = database.transaction(async ({ connection }) => {
      const statements = createTransactionStatements(connection);
      resolve(statements);
      const isCommit = await decided.promise;
      await statements.end();
      if (!isCommit) throw new RolledBack();
    });
    closed.catch(reject);
    return promise;
  }

  const createQueryable = (opensTransaction: boolean): Queryable => {
    const createRunner =
      (kind: keyof Queryable): Queryable['readList'] =>
      async (sendable) => {
        if (opensTransaction && kind === 'write' && !ended) opened ??= openTransaction();
        const statements = await opened;
        if (ended && refusesLateStatements) throw new TransactionEndedError();
        const runner = statements === undefined || ended ? database : statements;
        if (kind === 'readList') return runner.readList(sendable);
        return runner[kind](typeof sendable === 'function' ? sendable() : sendable);
      };
    return {
      read: createRunner('read'),
      readList: createRunner('readList'),
      readSlowly: createRunner('readSlowly'),
      write: createRunner('write'),
    };
  };

  async function endTransaction(isCommit: boolean): Promise<void> {
    ended = true;
    decided.resolve(isCommit);
    await closed?.catch((error: unknown) => {
      if (!(error instanceof RolledBack)) throw error;
    });
  }

  const isOpen = () => opened !== undefined && !ended;
  const lazy: LazyTransaction = {
    opening: createQueryable(true),
    following: createQueryable(false),
    isOpen,
    abort: async (error) => (await opened)?.abort(error),
  };
  let result: T;
  try {
    result = await database.watch(isOpen, () => work(lazy));
  } catch (error) {
    // Ignore an error of the rollback: the error of `work` is more useful.
    await endTransaction(false).catch(() => undefined);
    throw error;
  }
  await endTransaction(result !== undefined);
  return result;
}

class RolledBack extends Error {}
