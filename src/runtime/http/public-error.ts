import { ApiError } from '../../platform/errors.ts';
import { publicDatabaseError } from '../../platform/postgres/errors.ts';
import { isSemaphoreFull } from '../../platform/semaphore.ts';

/** Express: a path that can't be decoded, for example `%zz`. It marks its own error; one of the project's code is no 404. */
function isUndecodablePath(error: unknown): boolean {
  return error instanceof URIError && (error as { status?: unknown }).status === 400;
}

/**
 * What a client is told of an error: an ApiError as it is, too long a queue and a database error by its class, anything else
 * `INTERNAL`.
 */
export function publicError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (isUndecodablePath(error)) return new ApiError('NOT_FOUND', undefined, { cause: error });
  if (isSemaphoreFull(error)) return new ApiError('UNAVAILABLE', undefined, { cause: error });
  return publicDatabaseError(error) ?? new ApiError('INTERNAL', undefined, { cause: error });
}
