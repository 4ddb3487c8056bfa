import { ApiError } from '../platform/errors.ts';
import type { Authenticator } from './host.ts';
import type { Auth, Route } from './route.ts';

const SCOPE = /^[A-Za-z0-9][\w.-]*(?::[A-Za-z0-9][\w.-]*)*$/;

/** What a scope must look like, in words. */
export const SCOPE_FORM = 'words of letters, digits, -, _ and ., joined by colons, as posts:publish';

/** Whether a route may ask for this scope. */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && SCOPE.test(value);
}

const NAME = /^[A-Za-z0-9][\w-]*$/;

/** The name by which scopes call what is below the first segment of a path; undefined when it can have none. */
export function nameOf({ path }: Pick<Route, 'path'>): string | undefined {
  const segment = path.split('/')[1] ?? '';
  return NAME.test(segment) ? segment : undefined;
}

/** What stands before the colon of a scope; empty for a scope without one. */
export function groupOf(scope: string): string {
  return scope.slice(0, Math.max(0, scope.indexOf(':')));
}

/** Whether only sessions are good on a route: below `/auth`, any other credential may only ask whose it is. */
export function isForSessions({ method, path }: Pick<Route, 'method' | 'path'>): boolean {
  return nameOf({ path }) === 'auth' && !(method === 'GET' && path === '/auth/me');
}

/**
 * The scopes of which a credential that is no session needs one on a route, the narrowest first; empty: only sessions are good there.
 *
 * @param own the scope that the route asks for
 */
export function scopesNeeded(route: Pick<Route, 'method' | 'path'>, own: string | undefined): readonly string[] {
  if (isForSessions(route)) return [];
  const name = own === undefined ? nameOf(route) : groupOf(own);
  const wide = name === undefined || name === '' || name === 'auth' ? [] : [`${name}:*`];
  if (own !== undefined) return [...new Set([own, ...wide, '*'])];
  const reads = route.method === 'GET';
  const narrow = name === undefined ? [] : [`${name}:${reads ? 'read' : 'write'}`];
  return [...narrow, ...wide, ...(reads ? ['read'] : []), '*'];
}

/**
 * Makes the check whether a credential is good on a route. What it needs is decided here, once: the scopes that the authenticators
 * ask for, and for a credential that is no session at least those of the route itself.
 *
 * @param authenticators those that the credential may be of; it needs a scope of each
 * @returns throws ApiError FORBIDDEN, naming the scope, for a credential that lacks it
 */
export function createScopeCheck(route: Route, authenticators: readonly Authenticator[]): (auth: Auth) => void {
  const asked = authenticators.flatMap(({ scheme }) =>
    scheme?.scopesOf === undefined ? [] : [scheme.scopesOf(route)],
  );
  const forOthers = isForSessions(route) || asked.length === 0 ? [scopesNeeded(route, route.scope)] : asked;
  return ({ via, scopes }) => {
    for (const needed of via === 'session' ? asked : forOthers) assertScope(needed, scopes);
  };
}

/**
 * Refuses a credential that lacks the scopes of a route.
 *
 * @param needed one of them is enough; empty: none gets in
 * @param held none for a credential whose authenticator gives none
 * @throws ApiError FORBIDDEN, naming the scope
 */
function assertScope(needed: readonly string[], held: readonly string[] | undefined): void {
  if (needed.some((scope) => held?.includes(scope))) return;
  const message = needed.length === 0 ? 'An API key cannot be used here' : `This needs the scope "${needed[0]}"`;
  throw new ApiError('FORBIDDEN', message);
}
