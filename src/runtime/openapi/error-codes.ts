import type { CompiledPolicy } from '../../declare/policy.ts';
import type { Route } from '../../declare/route.ts';
import type { ErrorCode } from '../../platform/errors.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { isItemPath } from '../http/endpoint.ts';

/** What every route can answer with, whatever it does. */
const ALWAYS: readonly ErrorCode[] = ['BAD_REQUEST', 'UNAUTHORIZED', 'INTERNAL', 'UNAVAILABLE'];
const OF_BODIES: readonly ErrorCode[] = [
  'INVALID_JSON',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'VALIDATION_ERROR',
];

/** What the errors of a route depend on besides the route itself. */
export interface RouteFacts {
  policy: CompiledPolicy;
  /** Whose records a CRUD route is about. */
  resource: CompiledResource | undefined;
  /** Whose record the body is. */
  written: CompiledResource | undefined;
  /** Whether what signs in may be limited to some routes. */
  scoped: boolean;
  /** Whether a client may have asked too often. */
  limited: boolean;
}

/** Whether a route reads its body. */
export function takesBody(route: Route): boolean {
  return route.input !== undefined || route.body === 'json' || route.body === 'any';
}

function hasUnique(resource: CompiledResource): boolean {
  const { indexes } = resource.declaration;
  return resource.fields.some((field) => field.spec.unique) || (indexes?.some((index) => index.unique) ?? false);
}

/** Whether a policy can refuse somebody who is signed in. A create passes `owner`, a list narrows down by it. */
function canForbid(policy: CompiledPolicy, route: Route): boolean {
  if (policy.public || policy.authenticated || route.crud === 'read') return false;
  return !(policy.owner && (route.crud === 'create' || route.crud === 'list'));
}

/** The codes that a route's answers can carry, by what the kernel, the resource's rules and the handler do. */
export function errorCodes(route: Route, { policy, written, scoped, limited }: RouteFacts): Set<ErrorCode> {
  const codes = new Set<ErrorCode>([...ALWAYS, ...(route.errors ?? [])]);
  const add = (condition: boolean, ...more: readonly ErrorCode[]) => {
    if (condition) for (const code of more) codes.add(code);
  };
  const changesRecord = route.crud === 'update' || route.crud === 'delete';
  add(takesBody(route), ...OF_BODIES);
  add(scoped || canForbid(policy, route), 'FORBIDDEN');
  // A path that cannot be decoded names nothing either.
  add(/[:*]/.test(route.path), 'NOT_FOUND');
  const isConditional = route.method === 'GET' && !route.eventStream;
  add(isConditional || (route.resource !== undefined && isItemPath(route.path)), 'PRECONDITION_FAILED');
  add(route.idempotent !== undefined && route.idempotent !== false, 'CONFLICT', 'IDEMPOTENCY_KEY_REUSED', 'FORBIDDEN');
  add(limited, 'RATE_LIMITED');
  add(changesRecord || (written !== undefined && hasUnique(written)), 'CONFLICT');
  return codes;
}

/** Whether code that the document knows nothing of may answer as it likes: a custom handler, hooks, middleware. */
export function answersFreely(route: Route, { resource, written }: RouteFacts): boolean {
  if (route.crud === undefined && route.errors === undefined) return true;
  const writes = route.crud !== undefined && route.crud !== 'list' && route.crud !== 'read' ? resource : written;
  return (route.middleware?.length ?? 0) > 0 || writes?.declaration.hooks !== undefined;
}
