import { ApiError } from '../../platform/helpers/errors.ts';
import { toPublicOperationError } from '../../records/access/public-error.ts';

/** Whether Express could not decode a path such as `%zz`. Only errors marked by Express count, not a URIError of the project's code. */
function isUndecodablePath(error: unknown): boolean {
  return error instanceof URIError && (error as { status?: unknown }).status === 400;
}

/** Returns the public form of an error of a request: a path that cannot be decoded is not found. */
export function toPublicError(error: unknown): ApiError {
  if (isUndecodablePath(error)) return new ApiError('NOT_FOUND', undefined, { cause: error });
  return toPublicOperationError(error);
}
