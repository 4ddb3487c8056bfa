import { ApiError } from '../../platform/errors.ts';
import { publicDatabaseError } from '../../platform/postgres/errors.ts';

/** What a client is told of an error: an ApiError as it is, a database error by its class, anything else `INTERNAL`. */
export function publicError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  // Express: a path that can't be decoded, for example `%zz`.
  if (error instanceof URIError) return new ApiError('NOT_FOUND', undefined, { cause: error });
  return publicDatabaseError(error) ?? new ApiError('INTERNAL', undefined, { cause: error });
}
