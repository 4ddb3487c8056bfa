import type { Route } from '../../declare/route.ts';
import { isForSessions } from '../../declare/scope.ts';

type Place = Pick<Route, 'method' | 'path' | 'crud'>;

/** What a parameter is called makes no other route, and PUT of a record is another way to say PATCH. */
function placeOf({ method, path, crud }: Place): string {
  return `${crud === 'update' ? 'PATCH' : method} ${path.replaceAll(/:\w+/g, ':')}`;
}

/** The setting `routeScopes` of an app. */
export interface RouteScopes {
  /** The scope that a route asks for: that of the setting, or its own; undefined when it has neither. */
  of(route: Route): string | undefined;
  /** A line each. */
  mistakes: readonly string[];
}

/**
 * Finds the routes that the setting names.
 *
 * @param routes all of the app
 */
export function readRouteScopes(routes: readonly Route[], given: Readonly<Record<string, string>>): RouteScopes {
  const scopes = new Map<string, string>();
  const mistakes: string[] = [];
  for (const [name, scope] of Object.entries(given)) {
    const fault = (text: string) => mistakes.push(`apiKeys.routeScopes: "${name}": ${text}`);
    const [method, path = ''] = name.split(' ', 2);
    const wanted = placeOf({ method, path } as Place);
    const route = routes.find((one) => placeOf({ method: one.method, path: one.path }) === wanted);
    if (route === undefined) fault('there is no such route; write it as it is declared, as "POST /posts/:id/publish"');
    else if (isForSessions(route)) fault('API keys are never good there, whatever their scopes');
    else scopes.set(placeOf(route), scope);
  }
  return { of: (route) => scopes.get(placeOf(route)) ?? route.scope, mistakes };
}
