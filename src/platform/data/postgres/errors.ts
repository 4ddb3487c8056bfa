import pg from 'pg';
import { isSemaphoreFull } from '../../helpers/concurrency/semaphore.ts';
import { ApiError } from '../../helpers/errors.ts';

interface PostgresError extends Error {
  code: string;
  constraint?: string;
  table?: string;
  column?: string;
}

const CONNECTION_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN']);

// Messages of pg errors without a code: a connection ended during a query, or none was available in time.
const CONNECTION_TEXTS =
  /connection terminated|timeout (exceeded when trying to connect|expired)|client was closed|not queryable|query read timeout/i;

function codeOf(error: unknown): string {
  return typeof (error as PostgresError | null)?.code === 'string' ? (error as PostgresError).code : '';
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const CANCELED = '57014';
// Serialization failure, deadlock, lock not available: the statement was valid but conflicted with concurrent statements.
const CONFLICT_CODES = new Set(['40001', '40P01', '55P03']);
const CONFLICT_RETRY_SECONDS = 1;

/** Returns the database error that caused the ApiError of a service call; returns any other error unchanged. */
function causeOf(error: unknown): unknown {
  return error instanceof ApiError ? error.cause : error;
}

/** Whether a statement, or a service call, failed because a statement exceeded its time limit. */
export function isStatementTimeout(error: unknown): boolean {
  return codeOf(causeOf(error)) === CANCELED;
}

/** Whether a statement failed because a number that it computes is out of the range of its type. */
export function isOutOfRange(error: unknown): boolean {
  return codeOf(error) === '22003';
}

/** Whether a statement failed because Postgres does not know a parameter's value, such as the name of a time zone. */
export function isInvalidParameter(error: unknown): boolean {
  return codeOf(error) === '22023';
}

/** Whether a statement, or a service call, failed because of concurrent statements, so that repeating it may succeed. */
export function isConcurrencyConflict(error: unknown): boolean {
  return CONFLICT_CODES.has(codeOf(causeOf(error)));
}

/** Whether a statement or a service call failed because its connection was lost, or because none could be opened. */
export function isConnectionError(error: unknown): boolean {
  const cause = causeOf(error);
  const code = codeOf(cause);
  // Classes 08 connection, 57P shutdown.
  if (CONNECTION_CODES.has(code) || /^(08|57P)/.test(code)) return true;
  return cause instanceof Error && CONNECTION_TEXTS.test(cause.message);
}

/** Whether the database cannot be reached or has no capacity at the moment (as opposed to an invalid statement). */
function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  // Class 53: resources.
  return code.startsWith('53') || code === CANCELED || isConcurrencyConflict(error) || isConnectionError(error);
}

/**
 * Whether a statement or a service call failed because the database was unavailable, so that a retry may help. An error that the
 * project's own code throws does not count, not even an ApiError UNAVAILABLE.
 */
export function isTransient(error: unknown): boolean {
  const cause = causeOf(error);
  return isUnavailable(cause) || isSemaphoreFull(cause);
}

/** The message of a statement after the database was closed. To clients, such a process is unavailable. */
export const CLOSED = 'Client was closed and is not queryable';

/** Whether a statement failed because this process closed its database, so that no retry can help. */
export function isClosed(error: unknown): boolean {
  const cause = causeOf(error);
  return cause instanceof Error && cause.message === CLOSED;
}

/** The kinds of violations by SQLSTATE. Triggers of a project may raise errors with these codes, too. */
const VIOLATIONS = {
  '23000': 'check',
  '23001': 'foreignKey',
  '23502': 'notNull',
  '23503': 'foreignKey',
  '23505': 'unique',
  '23514': 'check',
  '23P01': 'exclusion',
  // A view with a check option refused the row.
  '44000': 'check',
} as const;

/** A rule of the database that a write violated. Texts are empty if Postgres does not name them, as for errors that a trigger raises. */
interface ConstraintViolation {
  kind: (typeof VIOLATIONS)[keyof typeof VIOLATIONS];
  /** The name of the constraint, or of the unique index. */
  name: string;
  /** The table that the constraint belongs to. */
  table: string;
  column: string;
}

/** The constraint that a write violated; undefined if the error has another cause. */
export function findConstraintViolation(error: unknown): ConstraintViolation | undefined {
  const code = codeOf(error);
  if (!Object.hasOwn(VIOLATIONS, code)) return undefined;
  const { constraint = '', table = '', column = '' } = error as PostgresError;
  return { kind: VIOLATIONS[code as keyof typeof VIOLATIONS], name: constraint, table, column };
}

/** The name of the unique constraint or index that a write violated; undefined if the error has another cause. */
export function findViolatedConstraint(error: unknown): string | undefined {
  const violation = findConstraintViolation(error);
  return violation?.kind === 'unique' ? violation.name : undefined;
}

/** The foreign key that a write violated, and the table that it belongs to; undefined if the error has another cause. */
export function findViolatedForeignKey(error: unknown): { name: string; table: string } | undefined {
  const violation = findConstraintViolation(error);
  return violation?.kind === 'foreignKey' ? violation : undefined;
}

const MISSING_REFERENCE = 'The request refers to a record that does not exist';
const REFERRED_TO = 'Other records refer to this record, so it cannot be changed or deleted';

/** Whether a row lacks the row that its foreign key refers to, rather than being referred to by others. Both violate the same key. */
function isMissingReference(error: unknown, writtenTable: string | undefined): boolean {
  if (codeOf(error) === '23001') return false;
  const { table, message } = error as PostgresError;
  // Without the table, for example at a commit, only the message tells. In other languages than English, the key counts as referred to.
  return writtenTable === undefined ? message.startsWith('insert or update on table') : table === writtenTable;
}

/**
 * The public form of a violated constraint; undefined for any other error. The messages of Postgres contain values of rows, so they are
 * never public.
 *
 * @param writtenTable the table of the row that was created or changed; undefined if it is unknown
 */
export function toPublicViolation(error: unknown, writtenTable?: string): ApiError | undefined {
  const violation = findConstraintViolation(error);
  if (violation === undefined) return undefined;
  switch (violation.kind) {
    case 'unique':
      return new ApiError('CONFLICT', undefined, { cause: error });
    case 'exclusion':
      return new ApiError('CONFLICT', 'The change conflicts with another record', { cause: error });
    case 'foreignKey':
      return isMissingReference(error, writtenTable)
        ? new ApiError('VALIDATION_ERROR', MISSING_REFERENCE, { cause: error })
        : new ApiError('CONFLICT', REFERRED_TO, { cause: error });
    default:
      return new ApiError('VALIDATION_ERROR', 'The request breaks a rule for the stored values', { cause: error });
  }
}

/** Whether the error came from Postgres. */
export function isDatabaseError(error: unknown): boolean {
  return error instanceof pg.DatabaseError;
}

/**
 * Returns the public form of a database error: 503 if the database is unavailable or the statement conflicted with others; 409 or 422
 * for a violated constraint, which the project may have added by SQL; 422 for a value that Postgres cannot store (a safety net: validation
 * should have rejected it); undefined for any other error, which is a bug.
 */
export function toPublicDatabaseError(error: unknown): ApiError | undefined {
  if (isConcurrencyConflict(error)) {
    return new ApiError('UNAVAILABLE', undefined, { retryAfter: CONFLICT_RETRY_SECONDS, cause: error });
  }
  if (isUnavailable(error)) return new ApiError('UNAVAILABLE', undefined, { cause: error });
  const violation = toPublicViolation(error);
  if (violation !== undefined) return violation;
  // Class 22 is a data exception; 54000: the value is too large for an index.
  if (codeOf(error).startsWith('22') || codeOf(error) === '54000') {
    return new ApiError('VALIDATION_ERROR', 'The request contains a value that cannot be stored', { cause: error });
  }
  return undefined;
}
