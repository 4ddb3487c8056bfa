import type { Route } from './route.ts';

const SCOPE = /^[A-Za-z0-9][\w.-]*(?::[A-Za-z0-9][\w.-]*)*$/;

/** A description of the scope format, for messages. */
export const SCOPE_FORMAT = 'words of letters, digits, -, _ and ., joined by colons, such as posts:publish';

/** Whether a value is a valid scope, which a route may require. */
export function isScope(value: unknown): value is string {
  return typeof value === 'string' && SCOPE.test(value);
}

const PATH_NAME = /^[A-Za-z0-9][\w-]*$/;

/** The name that scopes use for the first segment of a path; undefined if the segment cannot be a name. */
export function scopeNameOfPath({ path }: Pick<Route, 'path'>): string | undefined {
  const segment = path.split('/')[1] ?? '';
  return PATH_NAME.test(segment) ? segment : undefined;
}

/** The part of a scope before the colon; empty for a scope without one. */
export function scopePrefixOf(scope: string): string {
  return scope.slice(0, Math.max(0, scope.indexOf(':')));
}

/** Whether a route accepts only sessions. Below `/auth`, any other credential may only call `GET /auth/me`. */
export function acceptsOnlySessions({ method, path }: Pick<Route, 'method' | 'path'>): boolean {
  return scopeNameOfPath({ path }) === 'auth' && !(method === 'GET' && path === '/auth/me');
}

/**
 * The scopes that give a credential other than a session access to a route, the narrowest first; one is enough. Empty: the route accepts
 * only sessions.
 *
 * @param own the scope that the route declares
 */
export function acceptedScopes(route: Pick<Route, 'method' | 'path'>, own: string | undefined): readonly string[] {
  if (acceptsOnlySessions(route)) return [];
  const name = own === undefined ? scopeNameOfPath(route) : scopePrefixOf(own);
  const wide = name === undefined || name === '' || name === 'auth' ? [] : [`${name}:*`];
  if (own !== undefined) return [...new Set([own, ...wide, '*'])];
  const reads = route.method === 'GET';
  const narrow = name === undefined ? [] : [`${name}:${reads ? 'read' : 'write'}`];
  return [...narrow, ...wide, ...(reads ? ['read'] : []), '*'];
}
