import type { ReadLimit } from '../declare/actor.ts';
import type { Authenticator } from '../declare/authenticator.ts';
import type { Auth, Route } from '../declare/route.ts';
import { acceptedScopes, acceptsOnlySessions } from '../declare/scope.ts';
import { ApiError } from '../platform/helpers/errors.ts';

/**
 * Creates the check whether a route accepts a credential. The required scopes are computed once, here: the scopes that the authenticators
 * require. A credential other than a session also needs at least the scopes of the route.
 *
 * @param authenticators the authenticators that the credential may belong to; the credential needs a scope that each of them accepts
 * @returns a function that throws ApiError FORBIDDEN, naming the needed scope, for a credential that lacks it
 */
export function createScopeCheck(route: Route, authenticators: readonly Authenticator[]): (auth: Auth) => void {
  const requiredScopes = authenticators.flatMap(({ scheme }) =>
    scheme?.scopesOf === undefined ? [] : [scheme.scopesOf(route)],
  );
  const requiredOfOthers =
    acceptsOnlySessions(route) || requiredScopes.length === 0 ? [acceptedScopes(route, route.scope)] : requiredScopes;
  return ({ via, scopes }) => {
    for (const needed of via === 'session' ? requiredScopes : requiredOfOthers) assertHasScope(needed, scopes);
  };
}

/**
 * Refuses the API key of an organisation on a route that may concern other data: every route that does not declare that it accepts such keys.
 *
 * @throws ApiError FORBIDDEN
 */
export function assertReachesRoute({ organisationKeys }: Pick<Route, 'organisationKeys'>, auth: Auth): void {
  if (auth.via === 'session' || auth.organisation === undefined || organisationKeys === true) return;
  throw new ApiError('FORBIDDEN', 'The API key of an organisation can be used only for records of that organisation');
}

/**
 * Creates the check whether a route accepts the credentials of an authenticator. The scopes of a credential and its organisation decide, or
 * `accepts` of the authenticator.
 *
 * @returns a function that throws ApiError FORBIDDEN
 */
export function createCredentialCheck(route: Route, authenticator: Authenticator): (auth: Auth) => void {
  if (authenticator.accepts === undefined) {
    const checkScope = createScopeCheck(route, [authenticator]);
    return (auth) => {
      checkScope(auth);
      assertReachesRoute(route, auth);
    };
  }
  const isAccepted = authenticator.accepts(route);
  return () => {
    if (!isAccepted) throw new ApiError('FORBIDDEN', 'This kind of credential cannot be used here');
  };
}

/** A route that every credential with the scope `read` or `*` may call. */
const ANY_READ: Route = { method: 'GET', path: '/', handler: () => undefined };

/**
 * Creates the check whether a credential may read the records of a resource. The credential needs the scopes of the routes that list and read
 * them; for a name without such routes, the scope `read` or `*`. The API key of an organisation reads only resources of organisations.
 *
 * @param routes returns all routes of the app; called when a resource is checked for the first time
 * @returns a function that throws ApiError FORBIDDEN, naming the needed scope, for a credential that lacks it
 */
export function createReadScopeCheck(
  routes: () => readonly Route[],
  authenticators: () => readonly Authenticator[],
): (auth: Auth, resource: string) => void {
  const checks = new Map<string, ((auth: Auth) => void)[]>();
  const createChecks = (resource: string) => {
    const isRead = (route: Route) => route.resource === resource && (route.crud === 'list' || route.crud === 'read');
    const reads = routes().filter(isRead);
    return (reads.length === 0 ? [ANY_READ] : reads).flatMap((route) => [
      createScopeCheck(route, authenticators()),
      (auth: Auth) => assertReachesRoute(route, auth),
    ]);
  };
  return (auth, resource) => {
    const known = checks.get(resource) ?? createChecks(resource);
    checks.set(resource, known);
    for (const check of known) check(auth);
  };
}

/** Creates the check whether a credential may read a resource, as `createReadScopeCheck` decides. */
export function createReadLimits(
  routes: () => readonly Route[],
  authenticators: () => readonly Authenticator[],
): (auth: Auth) => ReadLimit | undefined {
  const check = createReadScopeCheck(routes, authenticators);
  const mayRead = (auth: Auth, resource: string) => {
    try {
      check(auth, resource);
      return true;
    } catch (error) {
      if (error instanceof ApiError) return false;
      throw error;
    }
  };
  // The routes of a portal link return what its user may see.
  const isUnlimited = ({ via }: Auth) => via === 'session' || via === 'portal';
  return (auth) => (isUnlimited(auth) ? undefined : (resource) => mayRead(auth, resource));
}

/**
 * Refuses a credential that lacks the scopes of a route.
 *
 * @param needed the scopes that the route accepts; one of them is enough. Empty: no credential is accepted
 * @param held the scopes of the credential; undefined if its authenticator sets none
 * @throws ApiError FORBIDDEN, naming the scope
 */
function assertHasScope(needed: readonly string[], held: readonly string[] | undefined): void {
  if (needed.some((scope) => held?.includes(scope))) return;
  const message = needed.length === 0 ? 'An API key cannot be used here' : `This needs the scope "${needed[0]}"`;
  throw new ApiError('FORBIDDEN', message);
}
