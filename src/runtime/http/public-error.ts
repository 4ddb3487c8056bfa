import { ApiError } from '../../platform/errors.ts';
import { publicDatabaseError } from '../../platform/postgres/errors.ts';
import { isSemaphoreFull } from '../../platform/semaphore.ts';
import { InputError } from '../../records/input-error.ts';

/** Express: a path that cannot be decoded, for example `%zz`. It marks its own error; one of the project's code is no 404. */
function isUndecodablePath(error: unknown): boolean {
  return error instanceof URIError && (error as { status?: unknown }).status === 400;
}

/**
 * What a client learns of an error: an ApiError as it is, too long a queue and a database error by its class, anything else
 * `INTERNAL`.
 */
export function publicError(error: unknown): ApiError {
  // Its fields are those of a call that the project made by itself: the client never sent them.
  if (error instanceof InputError && error.bySystem) return new ApiError('INTERNAL', undefined, { cause: error });
  if (error instanceof ApiError) return error;
  if (isUndecodablePath(error)) return new ApiError('NOT_FOUND', undefined, { cause: error });
  if (isSemaphoreFull(error)) return new ApiError('UNAVAILABLE', undefined, { cause: error });
  return publicDatabaseError(error) ?? new ApiError('INTERNAL', undefined, { cause: error });
}
