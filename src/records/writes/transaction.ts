import type { Transaction } from '../../declare/service.ts';

/** The transaction in which operations run. */
export interface OperationTransaction extends Pick<Transaction, 'database' | 'afterCommit'> {
  /** Rolls the transaction back at its end, even if the caller of the operation catches the error. */
  abort(error: unknown): unknown;
}

/** What an operation needs that must run in a transaction. */
export interface TransactionContext {
  /** The transaction in which the operations run; undefined outside of one. */
  transaction: OperationTransaction | undefined;
}

/** Runs a step of an operation in a transaction. If it fails, the transaction is rolled back, even if the caller catches the error. */
export async function abortOnError(transaction: OperationTransaction, step: () => Promise<void>): Promise<void> {
  try {
    await step();
  } catch (error) {
    await transaction.abort(error);
    throw error;
  }
}
