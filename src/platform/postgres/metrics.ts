import { Counter } from 'prom-client';
import type { Metrics } from '../observability/metrics.ts';
import type { Database } from './database.ts';
import { isConcurrencyConflict, isDatabaseError, isStatementTimeout, isTransient } from './errors.ts';

// Classes 22 and 23: a value or a duplicate that Postgres refuses. The client gets a 4xx.
const CAUSED_BY_INPUT = /^2[23]/;

/** The label of a failed statement or transaction; undefined if it did not fail because of Postgres. */
function errorKindOf(error: unknown): string | undefined {
  if (isStatementTimeout(error)) return 'timeout';
  if (isConcurrencyConflict(error)) return 'conflict';
  if (isTransient(error)) return 'unavailable';
  if (!isDatabaseError(error) || CAUSED_BY_INPUT.test((error as { code?: string }).code ?? '')) return undefined;
  return 'other';
}

/** Counts the errors of a database in the metrics. Its statements take no longer. */
export function countDatabaseErrors<D extends Database>(database: D, { registry }: Pick<Metrics, 'registry'>): D {
  const errors = new Counter({
    name: 'belfry_db_errors_total',
    help: 'Statements and transactions that failed because of Postgres, by kind: timeout, conflict, unavailable, other.',
    labelNames: ['kind'],
    registers: [registry],
  });
  const countError = (error: unknown) => {
    const kind = errorKindOf(error);
    if (kind !== undefined) errors.inc({ kind });
  };
  const counted =
    <Arguments extends unknown[], T>(run: (...given: Arguments) => Promise<T>) =>
    (...given: Arguments): Promise<T> => {
      const result = run(...given);
      result.catch(countError);
      return result;
    };
  return {
    ...database,
    read: counted(database.read),
    readList: counted(database.readList),
    readSlowly: counted(database.readSlowly),
    write: counted(database.write),
    transaction: counted(database.transaction),
  };
}
