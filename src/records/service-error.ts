import { ApiError } from '../platform/errors.ts';
import { isDatabaseError, publicDatabaseError } from '../platform/postgres/errors.ts';
import { isSemaphoreFull } from '../platform/semaphore.ts';
import { InputError } from './input-error.ts';

/**
 * What a service throws of an error: the database's as an ApiError, with the error as its cause; what project code threw as it
 * is.
 *
 * @param bySystem whether the call was made as the system
 */
export function serviceError(error: unknown, bySystem: boolean): unknown {
  if (error instanceof InputError) {
    // The innermost call decides: a hook may have made it.
    error.bySystem ??= bySystem;
    return error;
  }
  if (error instanceof ApiError) return error;
  if (isSemaphoreFull(error)) return new ApiError('UNAVAILABLE', undefined, { cause: error });
  const known = publicDatabaseError(error);
  if (known?.code === 'VALIDATION_ERROR') {
    return serviceError(new InputError(known.code, known.message, { cause: error }), bySystem);
  }
  return known ?? (isDatabaseError(error) ? new ApiError('INTERNAL', undefined, { cause: error }) : error);
}
