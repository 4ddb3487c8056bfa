import { ApiError, type ErrorDetails } from '../../../platform/helpers/errors.ts';
import { toPublicOperationError } from '../../access/public-error.ts';
import { InputError } from '../../schema/rule-errors.ts';

/** The error of an item of a batch. */
export interface ItemFailure {
  place: number;
  error: unknown;
}

/**
 * The error of an atomic batch: the error of its first failed item, with the details of all failed items by their place.
 *
 * @param prefix the beginning of each name in the details, before the place
 * @returns an error that is not public unchanged
 */
export function createBatchError(failures: readonly ItemFailure[], prefix: string): unknown {
  const sorted = failures.toSorted((a, b) => a.place - b.place);
  const unexpected = sorted.find(({ error }) => toPublicOperationError(error) !== error);
  if (unexpected !== undefined) return unexpected.error;
  const details: ErrorDetails = {};
  for (const { place, error } of sorted) {
    const { message, details: own } = error as ApiError;
    const name = `${prefix}${place}`;
    if (own === undefined) details[name] = message;
    else for (const [path, text] of Object.entries(own)) details[`${name}.${path}`] = text;
  }
  const { code, message, retryAfter } = sorted[0]!.error as ApiError;
  const options = { details, ...(retryAfter !== undefined && { retryAfter }), cause: sorted[0]!.error };
  const isInput = sorted.every(({ error }) => error instanceof InputError);
  return isInput ? new InputError(code, message, options) : new ApiError(code, message, options);
}
