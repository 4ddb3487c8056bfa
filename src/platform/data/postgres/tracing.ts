import { runInSpan, type Tracing } from '../../observability/tracing.ts';
import type { Statement } from './connection.ts';
import type { Database } from './database.ts';
import type { Sendable } from './shared-lane.ts';

// The first table that a statement writes to, or else reads from. `for update` and `do update` name no table.
const WRITTEN = /(?<!for |key |do )\b(insert into|update|delete from)\s+"?(\w+)/i;
const READ = /\bfrom\s+"?(\w+)/i;

/** Returns the kind of a statement and its table, without values: `{ operation: 'INSERT', table: 'posts' }`. */
export function summarizeStatement(text: string): { operation: string; table: string | undefined } {
  const [, verb, table] = WRITTEN.exec(text) ?? [];
  if (verb !== undefined) return { operation: verb.split(' ')[0]!.toUpperCase(), table };
  return { operation: 'SELECT', table: READ.exec(text)?.[1] };
}

/**
 * Adds a span for each statement and transaction that belongs to a recorded span, such as that of a request. It includes the wait for a
 * connection. Returns the database unchanged if the process does not trace.
 */
export function withDatabaseTracing<D extends Database>(database: D, tracing: Tracing): D {
  if (!tracing.isEnabled) return database;

  function traceStatement<T>({ text }: Statement, run: () => Promise<T>): Promise<T> {
    if (tracing.current() === undefined) return run();
    const { operation, table } = summarizeStatement(text);
    const summary = table === undefined ? operation : `${operation} ${table}`;
    const attributes = {
      'db.system.name': 'postgresql',
      'db.operation.name': operation,
      'db.collection.name': table,
      'db.query.summary': summary,
    };
    return runInSpan(tracing.startSpan({ name: summary, kind: 'client', attributes }), run);
  }

  /** Traces a statement that is built when it is sent: by then, its wait for a connection is over. */
  function traceSendable<T>(sendable: Sendable, run: (sendable: Sendable) => Promise<T>): Promise<T> {
    if (typeof sendable !== 'function') return traceStatement(sendable, () => run(sendable));
    if (tracing.current() === undefined) return run(sendable);
    const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': 'SELECT' };
    return runInSpan(tracing.startSpan({ name: 'SELECT', kind: 'client', attributes }), () => run(sendable));
  }

  return {
    ...database,
    read: (statement) => traceStatement(statement, () => database.read(statement)),
    readList: (sendable) => traceSendable(sendable, database.readList),
    readSlowly: (statement) => traceStatement(statement, () => database.readSlowly(statement)),
    write: (statement) => traceStatement(statement, () => database.write(statement)),
    transaction(work) {
      if (tracing.current() === undefined) return database.transaction(work);
      const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': 'TRANSACTION' };
      const span = tracing.startSpan({ name: 'TRANSACTION', kind: 'client', attributes });
      return runInSpan(span, () => database.transaction(work));
    },
  };
}
