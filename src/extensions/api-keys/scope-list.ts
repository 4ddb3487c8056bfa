import type { Route } from '../../declare/route.ts';
import { groupOf, isForSessions, nameOf } from '../../declare/scope.ts';

/** What scopes with one name before the colon are there for. */
interface Group {
  reads: boolean;
  writes: boolean;
  /** Scopes that routes ask for, with what those do. */
  own: Map<string, Set<string>>;
}

function inGroup(name: string, { reads, writes, own }: Group): [scope: string, description: string][] {
  const list: [string, string][] = [];
  if (reads) list.push([`${name}:read`, `Read below /api/${name}`]);
  if (writes) list.push([`${name}:write`, `Create, change and delete below /api/${name}`]);
  for (const [scope, does] of own) list.push([scope, [...does].join('; ')]);
  // Of what is about the account itself there is one thing that keys may do.
  if (name !== '' && name !== 'auth') list.push([`${name}:*`, `Every scope that begins with ${name}:`]);
  return list;
}

/**
 * Every scope that a key can have, with what it allows: the general ones, then by name, in the order of the routes.
 *
 * @param routes all of the app
 * @param scopeOf the scope that a route asks for
 */
export function listScopes(
  routes: readonly Route[],
  scopeOf: (route: Route) => string | undefined,
): Map<string, string> {
  const groups = new Map<string, Group>();
  const group = (name: string): Group => {
    const found = groups.get(name) ?? { reads: false, writes: false, own: new Map() };
    groups.set(name, found);
    return found;
  };
  for (const route of routes) {
    if (isForSessions(route)) continue;
    const scope = scopeOf(route);
    const name = nameOf(route);
    if (scope !== undefined) {
      const { own } = group(groupOf(scope));
      own.set(scope, (own.get(scope) ?? new Set()).add(route.summary ?? `${route.method} /api${route.path}`));
    } else if (name !== undefined) group(name)[route.method === 'GET' ? 'reads' : 'writes'] = true;
  }
  const all = new Map([
    ['*', 'Everything that you can do'],
    ['read', 'Read everything that you can read'],
  ]);
  for (const [name, members] of groups) {
    for (const [scope, description] of inGroup(name, members)) if (!all.has(scope)) all.set(scope, description);
  }
  return all;
}
