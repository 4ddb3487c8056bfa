import { ApiError } from '../../platform/errors.ts';
import { publicDatabaseError } from '../../platform/postgres/errors.ts';
import { isSemaphoreFull } from '../../platform/semaphore.ts';

/**
 * What a client is told of an error: an ApiError as it is, too long a queue and a database error by its class, anything else
 * `INTERNAL`.
 */
export function publicError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  // Express: a path that can't be decoded, for example `%zz`.
  if (error instanceof URIError) return new ApiError('NOT_FOUND', undefined, { cause: error });
  if (isSemaphoreFull(error)) return new ApiError('UNAVAILABLE', undefined, { cause: error });
  return publicDatabaseError(error) ?? new ApiError('INTERNAL', undefined, { cause: error });
}
