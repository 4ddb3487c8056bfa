import type { MailMessage } from '../platform/mail/message.ts';
import type { Executor, Queryable } from '../platform/postgres/queryable.ts';
import type { Services } from './service.ts';

/**
 * The changes of a transaction are committed together or not at all. Its services see their own changes. Before the commit, no other
 * connection sees them, and none of their events is sent.
 */
export interface Transaction {
  /** The records of a resource, for code. */
  service: Services;
  push: {
    /** Stores a push message, which is sent after the commit. */
    enqueue(message: unknown): Promise<{ id: string }>;
  };
  mail: {
    /** Stores an e-mail, which is sent after the commit. */
    send(mail: MailMessage): Promise<{ id: string }>;
  };
  /** Runs statements in the transaction, for extensions with their own tables. */
  database: Queryable;
  /** Runs after the commit, in order; not at all if the transaction is rolled back. Errors are logged. */
  afterCommit(work: () => unknown): void;
}

/** The caller's transaction, for features that write in it. */
export interface CallerTransaction {
  database: Executor;
  /** Runs after the commit, in order; not at all if the transaction is rolled back. */
  afterCommit(work: () => unknown): void;
}

/**
 * Runs `work` in one transaction: committed if it resolves, rolled back if it rejects (with the same error). It holds a connection
 * meanwhile, so do no slow work in it. A single failed change (a duplicate) is undone on its own; code may catch its error and continue.
 */
export type Transact = <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>;
