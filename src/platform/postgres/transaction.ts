import { createSerialQueue } from '../concurrency/serial-queue.ts';
import type { Connection, Statement } from './connection.ts';
import type { Queryable } from './queryable.ts';

/** Runs all statements of one transaction, whichever code issues them. */
export interface TransactionStatements extends Queryable {
  /**
   * Makes the transaction fail with this error at its end, even if the caller of the failed statement catches the error. For a change
   * whose statements must be committed together or not at all.
   */
  abort(error: unknown): void;
  /** Waits for running statements and refuses later ones. Throws the error passed to `abort`, if it was called. */
  end(): Promise<void>;
}

/**
 * Creates the runner of statements on the connection of a transaction, one after the other. A failed write alone is rolled back to a
 * savepoint, so that code may catch its error (a duplicate) and continue; without a savepoint Postgres would refuse every later
 * statement.
 */
export function createTransactionStatements(connection: Connection): TransactionStatements {
  const queue = createSerialQueue();
  let ended = false;
  let hasSavepoint = false;
  let failure: { error: unknown } | undefined;

  function runInOrder<T>(work: () => Promise<T>): Promise<T> {
    if (failure !== undefined) return Promise.reject(failure.error);
    if (ended)
      return Promise.reject(
        new Error('This transaction has ended. Await every operation before its callback returns.'),
      );
    return queue(work);
  }

  async function writeWithSavepoint<Row extends unknown[]>(statement: Statement): Promise<Row[]> {
    await connection.execute(hasSavepoint ? 'release savepoint one; savepoint one' : 'savepoint one');
    hasSavepoint = true;
    try {
      return await connection.run<Row>(statement);
    } catch (error) {
      await connection.execute('rollback to savepoint one');
      throw error;
    }
  }

  const read: Queryable['read'] = (statement) => runInOrder(() => connection.run(statement));
  return {
    read,
    readList: (sendable) => read(typeof sendable === 'function' ? sendable() : sendable),
    readSlowly: read,
    write: (statement) => runInOrder(() => writeWithSavepoint(statement)),
    abort(error) {
      failure ??= { error };
    },
    async end() {
      ended = true;
      await queue(async () => undefined);
      if (failure !== undefined) throw failure.error;
    },
  };
}
