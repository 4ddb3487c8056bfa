import { singularize } from 'inflection';
import { pluralName } from '../../declare/naming.ts';
import type { HttpMethod, Route } from '../../declare/route.ts';

const VERBS: Record<HttpMethod, string> = {
  GET: 'get',
  POST: 'create',
  PUT: 'replace',
  PATCH: 'update',
  DELETE: 'delete',
};

/** Converts a name to Pascal case: `product-category` → `ProductCategory`. */
export function pascalCase(name: string): string {
  return name
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('');
}

function camelCase(name: string): string {
  const pascal = pascalCase(name);
  return pascal.slice(0, 1).toLowerCase() + pascal.slice(1);
}

function isPathParameter(segment: string): boolean {
  return /^[:*]/.test(segment);
}

/** Joins segments to a noun. A segment before a parameter becomes singular: `/posts/:id/history` is about a Post. */
function buildNoun(segments: readonly string[]): string {
  return segments
    .map((segment, i) => {
      if (!isPathParameter(segment)) {
        const one = i + 1 < segments.length && isPathParameter(segments[i + 1]!);
        return pascalCase(one ? singularize(segment) : segment);
      }
      const name = segment.slice(1);
      return name === 'id' ? '' : `By${pascalCase(name)}`;
    })
    .join('');
}

/**
 * Derives the name of a route from its method and path: `POST /posts/:id/publish` is `publishPost`, `GET /posts/feed` is
 * `getPostsFeed`. The last segment of a POST path is the verb.
 */
function deriveOperationId(method: HttpMethod, path: string): string {
  const segments = path.split('/').filter((segment) => segment !== '');
  const last = segments.at(-1)!;
  if (method !== 'POST' || isPathParameter(last) || segments.length === 1) {
    const one = method === 'POST' && segments.length === 1;
    return VERBS[method] + (one ? pascalCase(singularize(last)) : buildNoun(segments));
  }
  // `/posts/import` is `importPosts`, and `/posts/:id/publish` is `publishPost`: a noun stays plural unless a parameter follows it.
  return camelCase(last) + buildNoun(segments.slice(0, -1));
}

/** Returns the operationId of a route: the declared one, the one of its CRUD action (`listPosts`), or one derived from method and path. */
export function operationIdOf(route: Route): string {
  if (route.operationId !== undefined) return route.operationId;
  if (route.crud === undefined) return deriveOperationId(route.method, route.path);
  return route.crud + pascalCase(route.crud === 'list' ? pluralName(route.resource!) : route.resource!);
}

/** Derives the default summary of a route from its operationId: `publishPost` → `Publish post`. */
export function deriveDefaultSummary(operationId: string): string {
  const words = operationId.replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase();
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

/** Returns a path without the names of its parameters. Two routes with the same result match the same requests. */
function stripParameterNames(path: string): string {
  return path.replaceAll(/[:*]\w+/g, ':');
}

/** Expands the optional parts of a path: `/posts{/:page}` becomes two paths, the longer one first. */
function expandPath(path: string): string[] {
  const optional = /\{([^{}]*)\}/.exec(path);
  if (optional === null) return [path];
  const [before, after] = [path.slice(0, optional.index), path.slice(optional.index + optional[0].length)];
  return [...expandPath(before + optional[1] + after), ...expandPath(before + after)];
}

/** Returns a copy of a route for each path that its optional parts allow, each with its own operationId. */
function expandOptionalParts(route: Route): Route[] {
  const [first, ...others] = expandPath(route.path).map((path) => ({ ...route, path }));
  const named = others.map((other, i) => ({ ...other, operationId: `${operationIdOf(first!)}${i + 2}` }));
  return [first!, ...named];
}

/**
 * Selects the routes that the document describes. If two routes match the same requests, the first one is mounted first. The second is then
 * never reached, even if the first one is hidden.
 */
export function selectDocumentedRoutes(routes: readonly Route[]): Route[] {
  const requestKeyOf = (route: Route) => `${route.method} ${stripParameterNames(route.path)}`;
  const reached = [...Map.groupBy(routes.flatMap(expandOptionalParts), requestKeyOf).values()].map(([first]) => first!);
  return reached.filter((route) => !route.hidden);
}

/**
 * Creates the lookup of a route's path in the document: `/posts/:id` → `/api/posts/{id}`. Routes of one path use the same parameter names:
 * the names of the CRUD routes, if there are any.
 */
export function createDocumentPathLookup(routes: readonly Route[]): (route: Route) => string {
  const paths = new Map<string, string>();
  const named = [...routes.filter((route) => route.crud !== undefined), ...routes];
  for (const { path } of named) {
    const shape = stripParameterNames(path);
    if (!paths.has(shape)) paths.set(shape, `/api${path.replaceAll(/[:*](\w+)/g, '{$1}')}`);
  }
  return (route) => paths.get(stripParameterNames(route.path))!;
}
