import type { MailMessage } from '../platform/mail/message.ts';
import type { Executor, Queryable } from '../platform/postgres/queryable.ts';
import type { Services } from './service.ts';

/**
 * What is done in it is committed whole or not at all. Its services see their own changes; nobody else sees them, and no event
 * of them is sent, before the commit.
 */
export interface Transaction {
  /** The records of a resource, for code. */
  service: Services;
  push: {
    /** Stores a push message, to be sent once the transaction is committed. */
    enqueue(message: unknown): Promise<{ id: string }>;
  };
  mail: {
    /** Stores an e-mail, to be sent once the transaction is committed. */
    send(mail: MailMessage): Promise<{ id: string }>;
  };
  /** Statements of the transaction, for extensions with tables of their own. */
  database: Queryable;
  /** Runs after the commit, in order; not at all when the transaction is rolled back. Its error goes to the log. */
  afterCommit(work: () => unknown): void;
}

/** The caller's transaction, for features that write in it. */
export interface CallerTransaction {
  database: Executor;
  /** Runs after the commit, in order; not at all when the transaction is rolled back. */
  afterCommit(work: () => unknown): void;
}

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it rejects (and rejects alike). It holds a
 * connection meanwhile, so nothing slow belongs in it. A single change that fails (a duplicate) is undone alone; code may catch
 * its error and go on.
 */
export type Transact = <T>(work: (tx: Transaction) => Promise<T>) => Promise<T>;
