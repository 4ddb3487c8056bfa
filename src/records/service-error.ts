import { ApiError } from '../platform/errors.ts';
import { isDatabaseError, publicDatabaseError } from '../platform/postgres/errors.ts';
import { isSemaphoreFull } from '../platform/semaphore.ts';

/** What a service throws of an error: the database's as an ApiError, with the error as its cause; what project code threw as it is. */
export function serviceError(error: unknown): unknown {
  if (error instanceof ApiError) return error;
  if (isSemaphoreFull(error)) return new ApiError('UNAVAILABLE', undefined, { cause: error });
  const known = publicDatabaseError(error);
  return known ?? (isDatabaseError(error) ? new ApiError('INTERNAL', undefined, { cause: error }) : error);
}
