import type { Route } from '../../declare/route.ts';
import { scopesNeeded } from '../../declare/scope.ts';
import { readRouteScopes } from './route-scopes.ts';
import { listScopes } from './scope-list.ts';
import type { ApiKeySettings } from './settings.ts';

/** The scopes of an app. */
export interface Scopes {
  /** Every scope that a key can have, with what it allows. */
  all: ReadonlyMap<string, string>;
  /** Of which scopes a key needs one on a route, the narrowest first; none: keys are never good there. */
  neededOn(route: Route): readonly string[];
  /** What is wrong with the settings in the light of the routes, a line each. */
  mistakes: readonly string[];
}

/**
 * Reads the scopes of an app from its routes.
 *
 * @param routes all of the app
 */
export function createScopes(
  routes: readonly Route[],
  { routeScopes, defaultScopes }: Pick<ApiKeySettings, 'routeScopes' | 'defaultScopes'>,
): Scopes {
  const given = readRouteScopes(routes, routeScopes);
  const all = listScopes(routes, given);
  const unknown = defaultScopes.filter((scope) => !all.has(scope));
  return {
    all,
    neededOn: (route) => scopesNeeded(route, given.of(route)),
    mistakes: [
      ...given.mistakes,
      ...unknown.map(
        (scope) => `apiKeys.defaultScopes: there is no scope "${scope}"; scopes: ${[...all.keys()].join(', ')}`,
      ),
    ],
  };
}
