import { createSerialQueue } from '../../helpers/concurrency/serial-queue.ts';
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

/** A statement was issued after the end of its transaction. */
export class TransactionEndedError extends Error {
  override readonly name = 'TransactionEndedError';

  constructor() {
    super('This transaction has ended. Await every operation before its callback returns.');
  }
}

/**
 * Creates the runner of statements on the connection of a transaction, one after the other. A failed statement alone is rolled back
 * to a savepoint, so that code may catch its error (a duplicate, a slow list) and continue; without a savepoint Postgres would refuse
 * every later statement and the commit.
 */
export function createTransactionStatements(connection: Connection): TransactionStatements {
  const queue = createSerialQueue();
  let ended = false;
  let hasSavepoint = false;
  let failure: { error: unknown } | undefined;

  function runInOrder<T>(work: () => Promise<T>): Promise<T> {
    if (failure !== undefined) return Promise.reject(failure.error);
    if (ended) return Promise.reject(new TransactionEndedError());
    return queue(work);
  }

  /** Sends the savepoint and the statement in one round trip. Without its savepoint, the transaction must not be committed. */
  async function runWithSavepoint<Row extends unknown[]>(statement: Statement): Promise<Row[]> {
    connection.cork();
    const [saved, result] = await Promise.allSettled([
      connection.execute(hasSavepoint ? 'release savepoint one; savepoint one' : 'savepoint one'),
      connection.run<Row>(statement),
    ]);
    if (saved.status === 'rejected') {
      failure ??= { error: saved.reason };
      throw saved.reason;
    }
    hasSavepoint = true;
    if (result.status === 'fulfilled') return result.value;
    await connection.execute('rollback to savepoint one');
    throw result.reason;
  }

  const run: Queryable['read'] = (statement) => runInOrder(() => runWithSavepoint(statement));
  return {
    read: run,
    readList: (sendable) => run(typeof sendable === 'function' ? sendable() : sendable),
    readSlowly: run,
    write: run,
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
