import { Router } from 'express';
import { pluralName } from '../../declare/naming.ts';
import { compilePolicy } from '../../declare/policy.ts';
import type { AnyResource } from '../../declare/resource.ts';
import { type Route, routeBuilder } from '../../declare/route.ts';
import { isScope, SCOPE_FORM } from '../../declare/scope.ts';
import { limitRule, RULE_FORM } from '../../platform/limits/rule.ts';
import { ownerFieldOf } from '../schema/compile.ts';
import { unknownRoles } from './roles.ts';

type Fault = (text: string) => void;

const OPTIONS = [
  'policy',
  'input',
  'body',
  'query',
  'output',
  'errors',
  'status',
  'operationId',
  'summary',
  'description',
  'tags',
  'middleware',
  'rateLimit',
  'idempotent',
  'hidden',
  'scope',
];
/** What the builder itself sets. */
const BUILT = ['method', 'path', 'resource', 'handler'];

function pathFault(path: string, base: string): string | undefined {
  if (!path.startsWith(`${base}/`) && path !== base) return `the path "${path.slice(base.length)}" must begin with /`;
  try {
    Router().get(path, () => undefined);
    return undefined;
  } catch (error) {
    return `the path is malformed: ${(error as Error).message}`;
  }
}

function policyMistakes(route: Route, owned: boolean, fault: Fault): void {
  if (route.policy === undefined) return;
  const policy = compilePolicy(route.policy, (text) => fault(`policy: ${text}`));
  if (policy.owner && !(owned && route.resource !== undefined)) {
    fault('policy: "owner" needs a record that has an owner: a path with /:id, and a ref("user") marked owner()');
  }
}

function routeMistakes(route: Route, base: string, owned: boolean, fault: Fault): void {
  for (const key of Object.keys(route)) {
    if (![...OPTIONS, ...BUILT].includes(key)) fault(`"${key}" is not an option; options: ${OPTIONS.join(', ')}`);
  }
  if (route.body !== undefined && route.body !== 'any' && route.body !== 'raw')
    fault(`body: must be 'raw', or left out`);
  if (route.body === 'raw' && route.input !== undefined)
    fault(`body: 'raw' leaves the body unread, and input checks it; leave one of them out`);
  policyMistakes(route, owned, fault);
  commonMistakes(route, pathFault(route.path, base), fault);
}

function commonMistakes(route: Route, path: string | undefined, fault: Fault): void {
  if (path !== undefined) fault(path);
  if (typeof route.handler !== 'function') fault('the handler is missing');
  if (route.status !== undefined && !(Number.isInteger(route.status) && route.status >= 200 && route.status < 400)) {
    fault(`status: ${route.status} is not the status of a success`);
  }
  for (const name of ['input', 'query'] as const) {
    const schema = route[name];
    if (schema !== undefined && typeof schema?.['~standard']?.validate !== 'function')
      fault(`${name}: not a Standard Schema`);
  }
  if (route.idempotent !== undefined && (typeof route.idempotent !== 'boolean' || route.method !== 'POST')) {
    fault('idempotent: must be true or false, and is for POST routes');
  }
  if (route.scope !== undefined && !isScope(route.scope)) fault(`scope: must be ${SCOPE_FORM}`);
  const { rateLimit } = route;
  if (rateLimit !== undefined && rateLimit !== 'auth' && !limitRule.safeParse(rateLimit).success) {
    fault(`rateLimit: must be 'auth' or ${RULE_FORM}`);
  }
}

/** The routes among what `routes` gave. */
function listedRoutes(given: unknown, fault: Fault): Route[] {
  if (!Array.isArray(given)) {
    fault('routes: it must return a list of routes, as [route.get("/hello", () => "hello")]');
    return [];
  }
  const isRoute = (one: unknown) => typeof (one as Partial<Route> | null | undefined)?.path === 'string';
  for (const [i, one] of given.entries()) {
    if (!isRoute(one)) fault(`routes[${i}]: it is not a route; make it with the builder, as route.get(…)`);
  }
  return given.filter(isRoute);
}

/**
 * The mistakes in a resource's custom routes.
 *
 * @param roles those that users can have; undefined where any word may be one
 */
export function customRouteMistakes(resource: AnyResource, roles: readonly string[] | undefined, fault: Fault): void {
  if (resource.routes === undefined) return;
  const base = resource.path ?? `/${pluralName(resource.name)}`;
  const routes = listedRoutes(resource.routes(routeBuilder(base, resource.name)), fault);
  for (const route of routes) {
    const at = `route ${route.method} ${route.path}`;
    routeMistakes(route, base, ownerFieldOf(resource) !== undefined, (text) => fault(`${at}: ${text}`));
    for (const text of unknownRoles(route.policy ?? [], roles)) fault(`${at}: policy: ${text}`);
  }
  for (const double of doubles(routes)) fault(`route ${double}: is declared twice`);
}

/** Routes that answer the same requests, as `GET /posts/:id`. A custom route of a resource may stand before its CRUD route. */
function doubles(routes: readonly Route[]): string[] {
  const shape = (route: Route) => `${route.method} ${route.path.replace(/:\w+/g, ':')}`;
  return [...Map.groupBy(routes, shape).values()]
    .filter((same) => same.length > 1)
    .map(([route]) => `${route!.method} ${route!.path}`);
}

interface OfExtension {
  name: string;
  routes: readonly Route[];
}

const FORMS = {
  route: { path: /^\//, fault: 'the path must begin with /' },
  // Requests are handed out by the first segment, and those of the server itself stay its own.
  page: {
    path: /^\/(?!(?:api|healthz|readyz|metrics)(?:\/|$))(?:[\w.~-]+(?:\/|$)|$)/,
    fault: 'the path must begin with / and a fixed word other than api, healthz, readyz and metrics',
  },
};

/** The mistakes in the routes of extensions, and routes that two features claim. */
export function featureRouteMistakes(extensions: readonly OfExtension[], core: readonly Route[]): string[] {
  return claimMistakes('route', extensions, core);
}

/** The same of pages, whose paths are whole. */
export function pageMistakes(extensions: readonly OfExtension[], core: readonly Route[]): string[] {
  return claimMistakes('page', extensions, core);
}

function claimMistakes(kind: keyof typeof FORMS, extensions: readonly OfExtension[], core: readonly Route[]): string[] {
  const mistakes: string[] = [];
  const form = FORMS[kind];
  for (const { name, routes } of extensions) {
    for (const route of routes) {
      const fault = (text: string) =>
        mistakes.push(`extension "${name}": ${kind} ${route.method} ${route.path}: ${text}`);
      commonMistakes(route, form.path.test(route.path) ? undefined : form.fault, fault);
      policyMistakes(route, route.resource !== undefined, fault);
    }
  }
  // Core routes were checked with their resources; a double among them is a custom route before a CRUD route, which is meant.
  const own = new Set(doubles(core));
  const all = [...core, ...extensions.flatMap((extension) => extension.routes)];
  const claimed = doubles(all).filter((double) => !own.has(double));
  return [
    ...mistakes,
    ...claimed.map((double) => `${kind} ${double}: a resource or extension has it already; rename one`),
  ];
}
