import { ApiError } from '../platform/errors.ts';

const SCOPE = /^[A-Za-z0-9][\w.-]*(?::[A-Za-z0-9][\w.-]*)*$/;

/** What a scope must look like, in words. */
export const SCOPE_FORM = 'words of letters, digits, -, _ and ., joined by colons, as posts:publish';

/** Whether a route may ask for this scope. */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && SCOPE.test(value);
}

/**
 * Refuses a token that lacks the scopes of a route.
 *
 * @param needed one of them is enough; empty: no token gets in; undefined: every one does
 * @throws ApiError FORBIDDEN, naming the scope
 */
export function assertScope(needed: readonly string[] | undefined, held: readonly string[]): void {
  if (needed === undefined || needed.some((scope) => held.includes(scope))) return;
  const message = needed.length === 0 ? 'An API key cannot be used here' : `This needs the scope "${needed[0]}"`;
  throw new ApiError('FORBIDDEN', message);
}
