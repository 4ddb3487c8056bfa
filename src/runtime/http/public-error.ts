import { isSemaphoreFull } from '../../platform/concurrency/semaphore.ts';
import { ApiError } from '../../platform/errors.ts';
import { toPublicDatabaseError } from '../../platform/postgres/errors.ts';
import { InputError } from '../../records/access/rule-errors.ts';

/** Whether Express could not decode a path such as `%zz`. Only errors marked by Express count, not a URIError of the project's code. */
function isUndecodablePath(error: unknown): boolean {
  return error instanceof URIError && (error as { status?: unknown }).status === 400;
}

/**
 * Returns the public form of an error: an ApiError unchanged, a full wait queue or a database error by its class, anything else
 * `INTERNAL`.
 */
export function toPublicError(error: unknown): ApiError {
  // The input of a service call by the project's own code was invalid: the client did not send these fields, so hide them.
  if (error instanceof InputError && error.bySystem) return new ApiError('INTERNAL', undefined, { cause: error });
  if (error instanceof ApiError) return error;
  if (isUndecodablePath(error)) return new ApiError('NOT_FOUND', undefined, { cause: error });
  if (isSemaphoreFull(error)) return new ApiError('UNAVAILABLE', undefined, { cause: error });
  return toPublicDatabaseError(error) ?? new ApiError('INTERNAL', undefined, { cause: error });
}
