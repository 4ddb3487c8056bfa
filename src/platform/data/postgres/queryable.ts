import type { Statement } from './connection.ts';
import type { Sendable } from './shared-lane.ts';

/** Runs write statements, on the database or in a transaction. Rows are returned as arrays in column order. */
export interface Executor {
  /** Runs a statement on a connection that may write. Outside a transaction, it is retried if it conflicts with others. */
  write<Row extends unknown[]>(statement: Statement): Promise<Row[]>;
}

/**
 * Also runs reads, each kind on its own connections so that they cannot delay each other. A transaction runs all of them on its own
 * connection.
 */
export interface Queryable extends Executor {
  /** Runs a read that is a single index look-up (a record, a session) on shared, pipelined connections. */
  read<Row extends unknown[]>(statement: Statement): Promise<Row[]>;
  /** Runs a list read on separate connections: a client's expensive list delays other lists, never sign-ins or single reads. */
  readList<Row extends unknown[]>(statement: Sendable): Promise<Row[]>;
  /** Runs a read that may scan, on a few separate connections. Fails if none becomes free in time. */
  readSlowly<Row extends unknown[]>(statement: Statement): Promise<Row[]>;
}
