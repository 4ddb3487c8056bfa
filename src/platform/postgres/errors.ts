import pg from 'pg';
import { ApiError } from '../errors.ts';
import { isSemaphoreFull } from '../semaphore.ts';

interface PostgresError extends Error {
  code: string;
  constraint?: string;
  table?: string;
}

const CONNECTION_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EPIPE', 'ETIMEDOUT', 'EAI_AGAIN']);

// Messages that pg gives without a code when a connection ends under a query or none can be had in time.
const CONNECTION_TEXTS =
  /connection terminated|timeout exceeded when trying to connect|client was closed|not queryable|query read timeout/i;

function codeOf(error: unknown): string {
  return typeof (error as PostgresError | null)?.code === 'string' ? (error as PostgresError).code : '';
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const CANCELED = '57014';
// Serialization failure, deadlock, lock not available: nothing was wrong but that others did something at the same time.
const CONTENDED = new Set(['40001', '40P01', '55P03']);
const CONTENDED_RETRY_SECONDS = 1;

/** The error of the database behind a service's error. */
function causeOf(error: unknown): unknown {
  return error instanceof ApiError ? error.cause : error;
}

/** Whether a statement, or a service call, was ended because a statement took longer than it may. */
export function isTooSlow(error: unknown): boolean {
  return codeOf(causeOf(error)) === CANCELED;
}

/** Whether a statement was given up because of what others did at the same time: it may well go through when it is repeated. */
export function isContended(error: unknown): boolean {
  return CONTENDED.has(codeOf(error));
}

/** Whether the error says that the database cannot be reached or has no room now (not that a statement is wrong). */
function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  // Classes 08 connection, 53 resources, 57P shutdown.
  if (CONNECTION_CODES.has(code) || /^(08|53|57P)/.test(code) || code === CANCELED || isContended(error)) return true;
  return error instanceof Error && CONNECTION_TEXTS.test(error.message);
}

/**
 * Whether a statement or a service call failed because the database did not answer, so that a retry may help. An error that the
 * project's own code throws does not count, not even an ApiError UNAVAILABLE.
 */
export function isTransient(error: unknown): boolean {
  const cause = causeOf(error);
  return isUnavailable(cause) || isSemaphoreFull(cause);
}

/** The name of the unique constraint or index that a write ran into, or undefined when the error is another. */
export function violatedUnique(error: unknown): string | undefined {
  return codeOf(error) === '23505' ? ((error as PostgresError).constraint ?? '') : undefined;
}

/** Whether Postgres gave the error. */
export function isDatabaseError(error: unknown): boolean {
  return error instanceof pg.DatabaseError;
}

/**
 * What a client learns of a database error: 503 when the store is down or others were in the way, 422 for a value that Postgres cannot hold (a net:
 * validation should have said so), undefined when it is a fault of ours.
 */
export function publicDatabaseError(error: unknown): ApiError | undefined {
  if (isContended(error)) {
    return new ApiError('UNAVAILABLE', undefined, { retryAfter: CONTENDED_RETRY_SECONDS, cause: error });
  }
  if (isUnavailable(error)) return new ApiError('UNAVAILABLE', undefined, { cause: error });
  // Class 22 data exception; 54000: larger than an index takes.
  if (codeOf(error).startsWith('22') || codeOf(error) === '54000') {
    return new ApiError('VALIDATION_ERROR', 'A value cannot be stored', { cause: error });
  }
  return undefined;
}
