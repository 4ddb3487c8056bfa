import type { Request, RequestHandler, Response } from 'express';
import { Counter } from 'prom-client';
import { type RecordQuery, type Route, type RouteContext, recordShapes } from '../../../declare/route.ts';
import type { Metrics } from '../../../platform/observability/metrics.ts';
import type { Records } from '../../../records/index.ts';
import { compileDeprecation, type DeprecatedItem, successorLink } from './announcement.ts';
import { compileFieldUses, type FieldUses } from './field-uses.ts';
import { announceUses } from './uses.ts';

/** Announces everything deprecated that requests use, and counts the uses. Compiled at start. */
export interface Deprecations {
  /** The names of the response headers that announcements use. */
  headers: readonly string[];
  /** Creates the handler that announces a deprecated route; undefined for other routes. */
  createRouteAnnouncer(route: Route): RequestHandler | undefined;
  /** Creates the function that announces the deprecated fields that a request names; undefined if requests of the route cannot name one. */
  createFieldAnnouncer(route: Route): ((req: Request, res: Response, parts: RequestParts) => void) | undefined;
}

/** The parts of a request that can name fields. */
interface RequestParts {
  query: RouteContext['query'];
  body: unknown;
}

/** The resource whose fields the body of a route has, as described by its schema; undefined for other bodies. */
function resourceInBody({ crud, resource, bodyShape }: Route): string | undefined {
  if (crud === 'create' || crud === 'update') return resource;
  return bodyShape && recordShapes.get(bodyShape)?.resource;
}

/** Creates the function that returns the queries of records in the query of a route. */
function createQueryFinder({
  crud,
  resource,
  recordQueries,
}: Route): (query: RouteContext['query']) => readonly RecordQuery[] {
  if (recordQueries !== undefined) return recordQueries;
  if (crud !== 'list' && crud !== 'read') return () => [];
  return (query) => [{ resource: resource!, query }];
}

/** Whether requests of a route can use a deprecated field. */
export function canUseDeprecatedField(route: Route, fields: FieldUses): boolean {
  const inBody = resourceInBody(route);
  if (inBody !== undefined && fields.isUsableInBody(inBody)) return true;
  if (route.crud === 'list' || route.crud === 'read') return fields.isUsableInQuery(route.resource!);
  return route.recordQueries !== undefined;
}

/**
 * Compiles what an app declares as deprecated.
 *
 * @param app `routes` have paths below `/api`, `pages` have full paths
 * @returns undefined if nothing is deprecated: then nothing happens per request
 */
export function createDeprecations({
  routes,
  pages,
  records,
  metrics,
}: {
  routes: readonly Route[];
  pages: readonly Route[];
  records: Records;
  metrics: Metrics;
}): Deprecations | undefined {
  const compileRoute = (prefix: string) => (route: Route) => {
    const { method, deprecated } = route;
    const path = prefix + route.path;
    return deprecated === undefined
      ? []
      : [[route, compileDeprecation('route', `${method} ${path}`, deprecated, path)] as const];
  };
  const itemByRoute = new Map([...routes.flatMap(compileRoute('/api')), ...pages.flatMap(compileRoute(''))]);
  const resources = new Map([...records.entities].map(([name, { resource }]) => [name, resource]));
  const fields = compileFieldUses(resources);
  if (itemByRoute.size === 0 && fields === undefined) return undefined;

  const counter = new Counter({
    name: 'belfry_deprecated_requests_total',
    help: 'Requests that used a deprecated route or field, by its declared name.',
    labelNames: ['kind', 'name'],
    registers: [metrics.registry],
  });
  // A series that stays at 0 shows that the route or field can be removed.
  for (const { kind, name } of [...itemByRoute.values(), ...(fields?.items ?? [])]) counter.inc({ kind, name }, 0);

  function announce(req: Request, res: Response, items: Iterable<DeprecatedItem>, link?: string): void {
    for (const { kind, name } of announceUses(req, res, items, link)) counter.inc({ kind, name });
  }

  return {
    headers: ['Deprecation', 'Sunset', 'Link'],
    createRouteAnnouncer(route) {
      const item = itemByRoute.get(route);
      if (item === undefined) return undefined;
      return (req, res, next) => {
        announce(req, res, [item], successorLink(item, req.params));
        next();
      };
    },
    createFieldAnnouncer(route) {
      if (fields === undefined || !canUseDeprecatedField(route, fields)) return undefined;
      const inBody = resourceInBody(route);
      const findQueries = createQueryFinder(route);
      return (req, res, { query, body }) => {
        if (inBody !== undefined) announce(req, res, fields.findInBody(inBody, body));
        for (const each of findQueries(query)) announce(req, res, fields.findInQuery(each.resource, each.query));
      };
    },
  };
}
