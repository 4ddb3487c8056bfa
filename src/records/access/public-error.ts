import { toPublicDatabaseError } from '../../platform/data/postgres/errors.ts';
import { isSemaphoreFull } from '../../platform/helpers/concurrency/semaphore.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { InputError } from '../schema/rule-errors.ts';

/**
 * Returns the public form of an error of an operation: an ApiError unchanged, a full wait queue or a database error by its class, anything
 * else `INTERNAL`.
 */
export function toPublicOperationError(error: unknown): ApiError {
  // The input of a service call by the project's own code was invalid: the client did not send these fields, so hide them.
  if (error instanceof InputError && error.bySystem) return new ApiError('INTERNAL', undefined, { cause: error });
  if (error instanceof ApiError) return error;
  if (isSemaphoreFull(error)) return new ApiError('UNAVAILABLE', undefined, { cause: error });
  return toPublicDatabaseError(error) ?? new ApiError('INTERNAL', undefined, { cause: error });
}
