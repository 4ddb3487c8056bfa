import type { Route } from '../../declare/route.ts';
import { operationIdOf } from './operation-id.ts';

/** A path without the names of its parameters: what makes two routes answer the same requests. */
function shapeOf(path: string): string {
  return path.replaceAll(/[:*]\w+/g, ':');
}

/** `/posts{/:page}` is two paths; the longer one first. */
function variants(path: string): string[] {
  const optional = /\{([^{}]*)\}/.exec(path);
  if (optional === null) return [path];
  const [before, after] = [path.slice(0, optional.index), path.slice(optional.index + optional[0].length)];
  return [...variants(before + optional[1] + after), ...variants(before + after)];
}

/** A route once for each path that it answers, each with an operationId of its own. */
function unfolded(route: Route): Route[] {
  const [first, ...others] = variants(route.path).map((path) => ({ ...route, path }));
  const named = others.map((one, i) => ({ ...one, operationId: `${operationIdOf(first!)}${i + 2}` }));
  return [first!, ...named];
}

/**
 * The routes in the document. Of two that answer the same requests the first one is mounted first: the second is
 * never reached, even if the first one is hidden.
 */
export function shownRoutes(routes: readonly Route[]): Route[] {
  const same = (route: Route) => `${route.method} ${shapeOf(route.path)}`;
  const reached = [...Map.groupBy(routes.flatMap(unfolded), same).values()].map(([first]) => first!);
  return reached.filter((route) => !route.hidden);
}

/** `/posts/:id` → `/api/posts/{id}`. Routes of one path share the names of its parameters: those of the CRUD routes, if any. */
export function documentPaths(routes: readonly Route[]): (route: Route) => string {
  const paths = new Map<string, string>();
  const named = [...routes.filter((route) => route.crud !== undefined), ...routes];
  for (const { path } of named) {
    const shape = shapeOf(path);
    if (!paths.has(shape)) paths.set(shape, `/api${path.replaceAll(/[:*](\w+)/g, '{$1}')}`);
  }
  return (route) => paths.get(shapeOf(route.path))!;
}
