import { ApiError } from '../platform/errors.ts';

/** The validation errors of a write's input or of a query. */
export class InputError extends ApiError {
  /**
   * Whether the system supplied the input. If so, no client can fix the error, so clients do not receive it. Set by the service that was
   * called.
   */
  bySystem: boolean | undefined;
}
