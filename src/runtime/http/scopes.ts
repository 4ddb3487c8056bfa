import type { Authenticator } from '../../declare/host.ts';
import type { Route } from '../../declare/route.ts';
import { assertScope } from '../../declare/scope.ts';
import type { SignedIn } from './sign-in.ts';

/**
 * Makes the check of a route's scopes. What it needs is decided here, once.
 *
 * @returns throws ApiError FORBIDDEN, naming the scope, for who is signed in by a token that lacks it
 */
export function createScopeCheck(route: Route, authenticators: readonly Authenticator[]): (by: SignedIn) => void {
  const needs = new Map(authenticators.map((one) => [one, one.scheme?.scopesOf?.(route)]));
  return ({ authenticator, auth }) => {
    if (authenticator !== undefined) assertScope(needs.get(authenticator), auth!.scopes);
  };
}
