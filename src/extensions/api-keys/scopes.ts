import {
  acceptedScopes,
  acceptsOnlySessions,
  ConfigErrors,
  type Route,
  scopeNameOfPath,
  scopePrefixOf,
} from '../../extension/index.ts';
import type { ApiKeySettings } from './settings.ts';

type RouteKeyParts = Pick<Route, 'method' | 'path' | 'crud'>;

/** Returns a key that identifies a route. Parameter names do not matter, and PUT of a record counts as PATCH. */
function routeKey({ method, path, crud }: RouteKeyParts): string {
  return `${crud === 'update' ? 'PATCH' : method} ${path.replaceAll(/:\w+/g, ':')}`;
}

/**
 * Reads the setting `routeScopes`, and reports routes in it that do not exist or accept no keys.
 *
 * @param routes all routes of the app
 * @returns a function for the scope that a route requires: from the setting, or its own; undefined if it has neither
 */
function createRouteScopeLookup(
  routes: readonly Route[],
  given: Readonly<Record<string, string>>,
  errors: ConfigErrors,
): (route: Route) => string | undefined {
  const scopes = new Map<string, string>();
  for (const [name, scope] of Object.entries(given)) {
    const at = errors.at(`"${name}"`);
    const [method, path = ''] = name.split(' ', 2);
    const wanted = routeKey({ method, path } as RouteKeyParts);
    const route = routes.find((one) => routeKey({ method: one.method, path: one.path }) === wanted);
    if (route === undefined)
      at.report('unknown route; write it as it is declared, for example "POST /posts/:id/publish"');
    else if (acceptsOnlySessions(route)) at.report('this route never accepts API keys, whatever their scopes');
    else scopes.set(routeKey(route), scope);
  }
  return (route) => scopes.get(routeKey(route)) ?? route.scope;
}

/** The scopes with the same name before the colon. */
interface ScopeGroup {
  reads: boolean;
  writes: boolean;
  /** Scopes that routes require, with the summaries of those routes. */
  own: Map<string, Set<string>>;
}

function scopesOfGroup(name: string, { reads, writes, own }: ScopeGroup): [scope: string, description: string][] {
  const list: [string, string][] = [];
  if (reads) list.push([`${name}:read`, `Read below /api/${name}`]);
  if (writes) list.push([`${name}:write`, `Create, change and delete below /api/${name}`]);
  for (const [scope, does] of own) list.push([scope, [...does].join('; ')]);
  // Routes under /auth have no wildcard scope: a key may do only a few things with the account itself.
  if (name !== '' && name !== 'auth') list.push([`${name}:*`, `Every scope that begins with ${name}:`]);
  return list;
}

/**
 * Returns every scope that a key can have, with a description: general scopes first, then by name in the order of the routes.
 *
 * @param routes all routes of the app
 */
function listScopes(routes: readonly Route[], scopeOf: (route: Route) => string | undefined): Map<string, string> {
  const groups = new Map<string, ScopeGroup>();
  const getGroup = (name: string): ScopeGroup => {
    const found = groups.get(name) ?? { reads: false, writes: false, own: new Map() };
    groups.set(name, found);
    return found;
  };
  for (const route of routes) {
    if (acceptsOnlySessions(route)) continue;
    const scope = scopeOf(route);
    const name = scopeNameOfPath(route);
    if (scope !== undefined) {
      const { own } = getGroup(scopePrefixOf(scope));
      own.set(scope, (own.get(scope) ?? new Set()).add(route.summary ?? `${route.method} /api${route.path}`));
    } else if (name !== undefined) getGroup(name)[route.method === 'GET' ? 'reads' : 'writes'] = true;
  }
  const all = new Map([
    ['*', 'Everything that you can do'],
    ['read', 'Read everything that you can read'],
  ]);
  for (const [name, members] of groups) {
    for (const [scope, description] of scopesOfGroup(name, members)) if (!all.has(scope)) all.set(scope, description);
  }
  return all;
}

/** The scopes of an app. */
export interface Scopes {
  /** Every scope that a key can have, with a description. */
  all: ReadonlyMap<string, string>;
  /** Returns the scopes that allow a route, narrowest first; a key needs one of them. Empty: the route accepts no keys. */
  scopesFor(route: Route): readonly string[];
}

/**
 * Derives the scopes of an app from its routes.
 *
 * @param routes all routes of the app
 * @param errors collects the settings that do not fit the routes
 */
export function createScopes(
  routes: readonly Route[],
  { routeScopes, defaultScopes }: Pick<ApiKeySettings, 'routeScopes' | 'defaultScopes'>,
  errors = new ConfigErrors(),
): Scopes {
  const findRouteScope = createRouteScopeLookup(routes, routeScopes, errors.at('apiKeys.routeScopes'));
  const all = listScopes(routes, findRouteScope);
  for (const scope of defaultScopes) {
    if (all.has(scope)) continue;
    errors.at('apiKeys.defaultScopes').report(`unknown scope "${scope}"; valid scopes: ${[...all.keys()].join(', ')}`);
  }
  return {
    all,
    scopesFor: (route) => acceptedScopes(route, findRouteScope(route)),
  };
}
