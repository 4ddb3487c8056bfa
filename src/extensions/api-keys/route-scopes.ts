import type { Route } from '../../declare/route.ts';
import { isForSessions } from '../../declare/scope.ts';
import type { ConfigErrors } from '../../platform/config-errors.ts';

type Place = Pick<Route, 'method' | 'path' | 'crud'>;

/** What a parameter is called makes no other route, and PUT of a record is another way to say PATCH. */
function placeOf({ method, path, crud }: Place): string {
  return `${crud === 'update' ? 'PATCH' : method} ${path.replaceAll(/:\w+/g, ':')}`;
}

/**
 * Finds the routes that the setting `routeScopes` names.
 *
 * @param routes all of the app
 * @returns the scope that a route asks for: that of the setting, or its own; undefined when it has neither
 */
export function readRouteScopes(
  routes: readonly Route[],
  given: Readonly<Record<string, string>>,
  errors: ConfigErrors,
): (route: Route) => string | undefined {
  const scopes = new Map<string, string>();
  for (const [name, scope] of Object.entries(given)) {
    const at = errors.at(`"${name}"`);
    const [method, path = ''] = name.split(' ', 2);
    const wanted = placeOf({ method, path } as Place);
    const route = routes.find((one) => placeOf({ method: one.method, path: one.path }) === wanted);
    if (route === undefined)
      at.report('there is no such route; write it as it is declared, as "POST /posts/:id/publish"');
    else if (isForSessions(route)) at.report('API keys are never good there, whatever their scopes');
    else scopes.set(placeOf(route), scope);
  }
  return (route) => scopes.get(placeOf(route)) ?? route.scope;
}
