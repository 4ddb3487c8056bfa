import type { CompiledPolicy } from '../../declare/policy.ts';
import type { Route } from '../../declare/route.ts';
import type { ErrorCode } from '../../platform/helpers/errors.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { isItemPath } from '../http/endpoint/route-traits.ts';

/** The error codes that every route can return. */
const ALWAYS_POSSIBLE_CODES: readonly ErrorCode[] = ['BAD_REQUEST', 'UNAUTHORIZED', 'INTERNAL', 'UNAVAILABLE'];
const BODY_CODES: readonly ErrorCode[] = [
  'INVALID_JSON',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'VALIDATION_ERROR',
];

/** The facts on which the errors of a route depend, besides the route itself. */
interface RouteFacts {
  policy: CompiledPolicy;
  /** The resource of a CRUD route; undefined for other routes. */
  resource: CompiledResource | undefined;
  /** The resource whose record the request body contains; undefined if it contains none. */
  written: CompiledResource | undefined;
  /** Whether the app has credentials with scopes, such as API keys, which may be limited to certain routes. */
  scoped: boolean;
  /** Whether a rate limit applies to the route. */
  limited: boolean;
}

/** Whether a route reads its body. */
export function readsBody(route: Route): boolean {
  return route.input !== undefined || route.body === 'json' || route.body === 'any' || typeof route.body === 'object';
}

function hasUniqueConstraint(resource: CompiledResource): boolean {
  const { indexes } = resource.declaration;
  if (resource.constraints.some(({ kind }) => kind !== 'check')) return true;
  return resource.fields.some((field) => field.spec.unique) || (indexes?.some((index) => index.unique) ?? false);
}

/** Whether a policy can refuse a signed-in user with a 403. `owner` refuses no create, and it filters a list instead. */
function canForbidSignedInUser(policy: CompiledPolicy, route: Route): boolean {
  if (policy.public || policy.authenticated || route.crud === 'read') return false;
  return !(policy.owner && (route.crud === 'create' || route.crud === 'list'));
}

/** Collects the error codes that a route can return, from the HTTP runtime, the resource's rules and the handler. */
export function collectErrorCodes(route: Route, { policy, written, scoped, limited }: RouteFacts): Set<ErrorCode> {
  const codes = new Set<ErrorCode>([...ALWAYS_POSSIBLE_CODES, ...(route.errors ?? [])]);
  const addCodesIf = (condition: boolean, ...more: readonly ErrorCode[]) => {
    if (condition) for (const code of more) codes.add(code);
  };
  const changesRecord = route.crud === 'update' || route.crud === 'delete';
  addCodesIf(readsBody(route), ...BODY_CODES);
  addCodesIf(scoped || canForbidSignedInUser(policy, route), 'FORBIDDEN');
  addCodesIf(route.recentSignIn === true, 'RECENT_SIGN_IN_REQUIRED');
  // A path that cannot be decoded also returns 404.
  addCodesIf(/[:*]/.test(route.path), 'NOT_FOUND');
  const isConditional = route.method === 'GET' && !route.eventStream;
  addCodesIf(isConditional || (route.resource !== undefined && isItemPath(route.path)), 'PRECONDITION_FAILED');
  addCodesIf(
    route.idempotent !== undefined && route.idempotent !== false,
    'CONFLICT',
    'IDEMPOTENCY_KEY_REUSED',
    'FORBIDDEN',
  );
  addCodesIf(limited, 'RATE_LIMITED');
  addCodesIf(changesRecord || (written !== undefined && hasUniqueConstraint(written)), 'CONFLICT');
  return codes;
}

/** Whether a route runs code whose errors are not declared: a custom handler, hooks or middleware. */
export function mayReturnAnyError(route: Route, { resource, written }: RouteFacts): boolean {
  if (route.crud === undefined && route.errors === undefined) return true;
  const writes = route.crud !== undefined && route.crud !== 'list' && route.crud !== 'read' ? resource : written;
  return (route.middleware?.length ?? 0) > 0 || writes?.declaration.hooks !== undefined;
}
