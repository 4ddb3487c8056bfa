import { Router } from 'express';
import { pluralName } from '../../declare/naming.ts';
import { compilePolicy } from '../../declare/policy.ts';
import type { AnyResource } from '../../declare/resource.ts';
import { createRouteBuilder, ROUTE_OPTIONS, type Route } from '../../declare/route.ts';
import { isScope, SCOPE_FORMAT } from '../../declare/scope.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';
import { limitRule, RULE_FORM } from '../../platform/work/limits/rule.ts';
import { AGGREGATE_PATH, hasAggregates } from '../aggregate/fields.ts';
import { ownerFieldOf } from '../schema/compile.ts';
import { checkRouteDeprecation } from './deprecation-errors.ts';
import { unknownRoleErrors } from './roles.ts';

/** Properties that the builder itself sets. */
const BUILDER_PROPERTIES = ['method', 'path', 'resource', 'handler'];

function pathError(path: string, base: string): string | undefined {
  if (!path.startsWith(`${base}/`) && path !== base) return `the path "${path.slice(base.length)}" must begin with /`;
  try {
    Router().get(path, () => undefined);
    return undefined;
  } catch (error) {
    return `the path is malformed: ${(error as Error).message}`;
  }
}

function checkRoutePolicy(route: Route, owned: boolean, errors: ConfigErrors): void {
  if (route.policy === undefined) return;
  const policy = compilePolicy(route.policy, (text) => errors.at('policy').report(text));
  if (policy.owner && !(owned && route.resource !== undefined)) {
    errors
      .at('policy')
      .report('"owner" needs a record that has an owner: a path with /:id, and a ref("user") marked owner()');
  }
}

function checkCustomRoute(route: Route, base: string, owned: boolean, errors: ConfigErrors): void {
  for (const key of Object.keys(route)) {
    if (![...ROUTE_OPTIONS, ...BUILDER_PROPERTIES].includes(key))
      errors.report(`"${key}" is not an option${suggestKnownNames(key, 'options', ROUTE_OPTIONS)}`);
  }
  if (typeof route.body === 'object') checkStreamedBody(route, errors.at('body'));
  else if (route.body !== undefined && route.body !== 'any' && route.body !== 'raw')
    errors.at('body').report(`must be 'raw', { kind: 'binary' } or { kind: 'multipart' }, or left out`);
  if (route.body === 'raw' && route.input !== undefined)
    errors.at('body').report(`'raw' means that the body is not read, so input cannot check it; remove one`);
  checkRoutePolicy(route, owned, errors);
  checkSharedRouteOptions(route, pathError(route.path, base), errors);
}

const isByteCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) > 0;

/** Checks the declaration of a body that the handler reads as a stream. */
function checkStreamedBody({ body, input, method }: Route, errors: ConfigErrors): void {
  if (input !== undefined)
    errors.report('input checks JSON bodies; remove it, or declare the fields of a form in body');
  if (method === 'GET' || method === 'DELETE') errors.report(`a ${method} request has no body; use POST, PUT or PATCH`);
  if (typeof body !== 'object' || body === null || (body.kind !== 'binary' && body.kind !== 'multipart')) {
    errors.at('kind').report(`must be 'binary' or 'multipart'`);
    return;
  }
  if (body.kind === 'binary') {
    if (!isByteCount(body.maxBytes)) errors.at('maxBytes').report('must be a whole number of bytes');
    return;
  }
  if (body.fields !== undefined && typeof body.fields?.['~standard']?.validate !== 'function')
    errors.at('fields').report('must be a Standard Schema, such as a zod schema');
  if (body.maxFiles !== undefined && !isByteCount(body.maxFiles))
    errors.at('maxFiles').report('must be a whole number of at least 1');
  const files = Object.entries(body.files ?? {});
  if (files.length === 0) errors.at('files').report('must name the form fields that take files');
  for (const [name, rules] of files) {
    if (!isByteCount(rules?.maxBytes)) errors.at(`files.${name}.maxBytes`).report('must be a whole number of bytes');
  }
}

function checkSharedRouteOptions(route: Route, path: string | undefined, errors: ConfigErrors): void {
  if (path !== undefined) errors.report(path);
  if (typeof route.handler !== 'function') errors.report('the handler is missing');
  if (route.status !== undefined && !(Number.isInteger(route.status) && route.status >= 200 && route.status < 400)) {
    errors.at('status').report(`must be a success status from 200 to 399, not ${route.status}`);
  }
  for (const name of ['input', 'query'] as const) {
    const schema = route[name];
    if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function')
      errors.at(name).report(`must be a Standard Schema, such as a zod schema`);
  }
  if (route.idempotent !== undefined && (typeof route.idempotent !== 'boolean' || route.method !== 'POST')) {
    errors.at('idempotent').report('must be true or false, and is allowed only on POST routes');
  }
  if (route.recentSignIn !== undefined && typeof route.recentSignIn !== 'boolean')
    errors.at('recentSignIn').report('must be true or false');
  if (route.scope !== undefined && !isScope(route.scope)) errors.at('scope').report(`must be ${SCOPE_FORMAT}`);
  if (route.deprecated !== undefined) checkRouteDeprecation(route.deprecated, errors.at('deprecated'));
  const { rateLimit } = route;
  if (rateLimit !== undefined && rateLimit !== 'auth' && !limitRule.safeParse(rateLimit).success) {
    errors.at('rateLimit').report(`must be 'auth' or ${RULE_FORM}`);
  }
}

/** The valid routes in the list that `routes` returned. */
function selectValidRoutes(given: unknown, errors: ConfigErrors): Route[] {
  if (!Array.isArray(given)) {
    errors.at('routes').report('it must return a list of routes, such as [route.get("/hello", () => "hello")]');
    return [];
  }
  const isRoute = (one: unknown) => typeof (one as Partial<Route> | null | undefined)?.path === 'string';
  for (const [i, one] of given.entries()) {
    if (!isRoute(one))
      errors.at(`routes[${i}]`).report(`it is not a route; create it with the builder, such as route.get(…)`);
  }
  return given.filter(isRoute);
}

/**
 * Checks a resource's custom routes.
 *
 * @param roles the roles that users can have; undefined if any word may be a role
 */
export function checkCustomRoutes(
  resource: AnyResource,
  roles: readonly string[] | undefined,
  errors: ConfigErrors,
): void {
  if (resource.routes === undefined) return;
  const base = resource.path ?? `/${pluralName(resource.name)}`;
  const routes = selectValidRoutes(resource.routes(createRouteBuilder(base, resource.name)), errors);
  for (const route of routes) {
    const at = errors.at(`route ${route.method} ${route.path}`);
    checkCustomRoute(route, base, ownerFieldOf(resource) !== undefined, at);
    for (const text of unknownRoleErrors(route.policy ?? [], roles)) at.at('policy').report(text);
  }
  const aggregates = `${base}${AGGREGATE_PATH}`;
  if (hasAggregates(resource) && routes.some(({ method, path }) => method === 'GET' && path === aggregates))
    errors.at(`route GET ${aggregates}`).report('aggregatable() and aggregates add this route; choose another path');
  for (const route of findDuplicateRoutes(routes)) errors.at(`route ${route}`).report('is declared twice');
}

/** Routes that match the same requests, as `GET /posts/:id`. A custom route of a resource may precede its CRUD route. */
function findDuplicateRoutes(routes: readonly Route[]): string[] {
  const normalizeRequest = (route: Route) => `${route.method} ${route.path.replace(/:\w+/g, ':')}`;
  return [...Map.groupBy(routes, normalizeRequest).values()]
    .filter((same) => same.length > 1)
    .map(([route]) => `${route!.method} ${route!.path}`);
}

/** All properties of a route. An extension writes routes as objects, so it may use more of them than the options of custom routes. */
const ROUTE_PROPERTIES: ReadonlySet<string> = new Set(
  Object.keys({
    method: true,
    path: true,
    policy: true,
    authorize: true,
    input: true,
    query: true,
    body: true,
    bodyLimit: true,
    weight: true,
    performs: true,
    passesOtherMethods: true,
    optionsHeaders: true,
    form: true,
    formShape: true,
    bodyShape: true,
    queryShape: true,
    output: true,
    eventStream: true,
    paged: true,
    aggregates: true,
    pending: true,
    file: true,
    errors: true,
    status: true,
    operationId: true,
    summary: true,
    description: true,
    tags: true,
    middleware: true,
    rateLimit: true,
    idempotent: true,
    recentSignIn: true,
    checksIfMatch: true,
    scope: true,
    organisationKeys: true,
    hidden: true,
    deprecated: true,
    recordQueries: true,
    load: true,
    resource: true,
    crud: true,
    action: true,
    handler: true,
    waits: true,
  } satisfies Record<keyof Route, true>),
);

interface ExtensionRoutes {
  name: string;
  routes: readonly Route[];
}

const PATH_RULES = {
  route: { path: /^\//, error: 'the path must begin with /' },
  // Requests are dispatched by the first segment; the server's own segments are reserved.
  page: {
    path: /^\/(?!(?:api|healthz|readyz|metrics)(?:\/|$))(?:[\w.~-]+(?:\/|$)|$)/,
    error: 'the path must begin with / and a fixed word other than api, healthz, readyz and metrics',
  },
};

/**
 * Checks the routes of extensions, and that no two features have the same route.
 *
 * @param kind `page`: routes with full paths, not below `/api`
 * @param core the routes of Belfry itself and of resources
 */
export function checkExtensionRoutes(
  kind: keyof typeof PATH_RULES,
  extensions: readonly ExtensionRoutes[],
  core: readonly Route[],
  errors: ConfigErrors,
): void {
  const pathRule = PATH_RULES[kind];
  for (const { name, routes } of extensions) {
    for (const route of routes) {
      const at = errors.at(`extension "${name}": ${kind} ${route.method} ${route.path}`);
      for (const key of Object.keys(route))
        if (!ROUTE_PROPERTIES.has(key))
          at.report(`"${key}" is not an option${suggestKnownNames(key, 'options', ROUTE_OPTIONS)}`);
      checkSharedRouteOptions(route, pathRule.path.test(route.path) ? undefined : pathRule.error, at);
      checkRoutePolicy(route, route.resource !== undefined, at);
    }
  }
  // Core routes were checked with their resources. A duplicate among them is a custom route before a CRUD route, which is allowed.
  const own = new Set(findDuplicateRoutes(core));
  const all = [...core, ...extensions.flatMap((extension) => extension.routes)];
  for (const route of findDuplicateRoutes(all)) {
    if (!own.has(route))
      errors.at(`${kind} ${route}`).report('another resource or extension already has this route; change one path');
  }
}
