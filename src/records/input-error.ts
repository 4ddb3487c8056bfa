import { ApiError } from '../platform/errors.ts';

/** What is wrong with the input of a write, or with a query. */
export class InputError extends ApiError {
  /** Whether the system gave it: then no client can mend it, and none hears of it. Decided by the service that was called. */
  bySystem: boolean | undefined;
}
