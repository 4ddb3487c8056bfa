import { Router } from 'express';
import { pluralName } from '../../declare/naming.ts';
import { compilePolicy } from '../../declare/policy.ts';
import type { AnyResource } from '../../declare/resource.ts';
import { type Route, routeBuilder } from '../../declare/route.ts';
import { ownerFieldOf } from '../compile.ts';

type Fault = (text: string) => void;

const OPTIONS = [
  'policy',
  'input',
  'status',
  'summary',
  'description',
  'tags',
  'middleware',
  'rateLimit',
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
  const path = pathFault(route.path, base);
  if (path !== undefined) fault(path);
  for (const key of Object.keys(route)) {
    if (![...OPTIONS, ...BUILT].includes(key)) fault(`"${key}" is not an option; options: ${OPTIONS.join(', ')}`);
  }
  policyMistakes(route, owned, fault);
  if (typeof route.handler !== 'function') fault('the handler is missing');
  if (route.status !== undefined && !(Number.isInteger(route.status) && route.status >= 200 && route.status < 400)) {
    fault(`status: ${route.status} is not the status of a success`);
  }
  if (route.input !== undefined && typeof route.input['~standard']?.validate !== 'function') {
    fault('input: not a Standard Schema');
  }
  if (route.rateLimit !== undefined) fault('rateLimit: not available yet; remove it');
}

/** The mistakes in a resource's custom routes. */
export function customRouteMistakes(resource: AnyResource, fault: Fault): void {
  if (resource.routes === undefined) return;
  const base = resource.path ?? `/${pluralName(resource.name)}`;
  const seen = new Set<string>();
  for (const route of resource.routes(routeBuilder(base, resource.name))) {
    const at = `route ${route.method} ${route.path}`;
    routeMistakes(route, base, ownerFieldOf(resource) !== undefined, (text) => fault(`${at}: ${text}`));
    const shape = `${route.method} ${route.path.replace(/:\w+/g, ':')}`;
    if (seen.has(shape)) fault(`${at}: is declared twice`);
    seen.add(shape);
  }
}
