import type { Sendable, Statement } from './pipeline.ts';

/** Something that runs statements: the database, or a transaction of it. Rows come as arrays in column order. */
export interface Executor {
  /** Runs a statement on a connection that may write; outside of a transaction again, when others were in its way. */
  write<Row extends unknown[]>(statement: Statement): Promise<Row[]>;
}

/** Runs reads too, each kind where it hurts nobody else. A transaction runs all of them on its own connection. */
export interface Queryable extends Executor {
  /** Runs a read that an index answers at once (a record, a session) on shared, pipelined connections. */
  read<Row extends unknown[]>(statement: Statement): Promise<Row[]>;
  /** The same for lists, on connections of their own: a client's costly list holds up lists, never sign-ins or single reads. */
  readList<Row extends unknown[]>(statement: Sendable): Promise<Row[]>;
  /** Runs a read that may scan, on a few connections of its own. Fails when none is free in time. */
  readSlowly<Row extends unknown[]>(statement: Statement): Promise<Row[]>;
}
