import type { Route } from '../../declare/route.ts';
import { scopesNeeded } from '../../declare/scope.ts';
import { ConfigErrors } from '../../platform/config-errors.ts';
import { readRouteScopes } from './route-scopes.ts';
import { listScopes } from './scope-list.ts';
import type { ApiKeySettings } from './settings.ts';

/** The scopes of an app. */
export interface Scopes {
  /** Every scope that a key can have, with what it allows. */
  all: ReadonlyMap<string, string>;
  /** Of which scopes a key needs one on a route, the narrowest first; none: keys are never good there. */
  neededOn(route: Route): readonly string[];
}

/**
 * Reads the scopes of an app from its routes.
 *
 * @param routes all of the app
 * @param errors where settings are reported that do not fit the routes
 */
export function createScopes(
  routes: readonly Route[],
  { routeScopes, defaultScopes }: Pick<ApiKeySettings, 'routeScopes' | 'defaultScopes'>,
  errors = new ConfigErrors(),
): Scopes {
  const given = readRouteScopes(routes, routeScopes, errors.at('apiKeys.routeScopes'));
  const all = listScopes(routes, given);
  for (const scope of defaultScopes) {
    if (all.has(scope)) continue;
    errors.at('apiKeys.defaultScopes').report(`there is no scope "${scope}"; scopes: ${[...all.keys()].join(', ')}`);
  }
  return {
    all,
    neededOn: (route) => scopesNeeded(route, given(route)),
  };
}
