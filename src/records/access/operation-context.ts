import type { Actor } from '../../declare/actor.ts';
import type { ViewContext } from '../../declare/host.ts';
import type { PolicyArguments } from '../../declare/policy.ts';
import type { RouteContext } from '../../declare/route.ts';
import type { ActAs, Services } from '../../declare/service.ts';
import { getIdentity, getRequestId } from '../../platform/http/request-context.ts';
import { currentActor } from '../../rules/acting.ts';
import type { IfMatch } from '../store/versions.ts';

/** A viewer with the services that the project's functions receive. Inside a transaction, they are the services of the transaction. */
export interface ResolvedViewContext extends ViewContext {
  service: PolicyArguments['service'];
}

/** The context of an operation: its privilege, and the user and request that it is recorded for. Created by the functions below. */
export interface OperationContext extends ResolvedViewContext {
  requestId?: string | undefined;
  /** System privilege: everything is validated, but no policy or scope applies. */
  system: boolean;
  /** For an update or deletion: the record must have one of these versions. */
  ifMatch?: IfMatch | undefined;
  /** For a deletion: the ids of records, by resource, that the caller deletes in the same transaction. */
  deletedWith?: ReadonlyMap<string, ReadonlySet<string>> | undefined;
}

/**
 * The arguments of policy functions.
 *
 * @param doc the record to decide on, if there is one
 */
export function createPolicyArguments(
  { user, req, service }: ResolvedViewContext,
  action: string,
  doc: unknown,
): PolicyArguments {
  return { user, action, doc, req, service };
}

/** The actor on whose behalf service calls inside an operation run. */
export function actorOf({ user, req, requestId }: OperationContext): Actor {
  return { user, req, requestId };
}

/** The actor's request if `user` sent it, else undefined: rules must not read the headers of another user's request. */
function requestSentByUser(actor: Actor | undefined, user: Actor['user']): Actor['req'] {
  return actor?.user?.id === user?.id ? actor?.req : undefined;
}

/** The context of an operation of an HTTP request, with the privilege of its user. */
export function createRequestContext({
  user,
  req,
  service,
}: Pick<RouteContext, 'user' | 'req' | 'service'>): OperationContext {
  return { user, req, requestId: getRequestId(req), system: false, service };
}

/** The context of an operation of the system, without a user. */
export function createSystemContext(service: Services): OperationContext {
  return { user: undefined, system: true, service };
}

/**
 * The context of a service call.
 *
 * @param as the options of the call
 * @param service the services that the project's functions receive during the call
 * @throws TypeError for an unknown privilege; Error for `{ as: 'user' }` without a user to act as
 */
export function createServiceCallContext(as: ActAs | undefined, service: Services): OperationContext {
  const actor = currentActor();
  // `{ user: ctx.user }` without a signed-in user must not become the system.
  const named = as !== undefined && Object.hasOwn(as, 'user');
  const privilege = as?.as ?? (named ? 'user' : 'system');
  if (privilege !== 'user' && privilege !== 'system')
    throw new TypeError(`the option "as" of a service call must be 'system' or 'user', not ${String(privilege)}`);
  if (privilege === 'user' && !named && actor === undefined)
    throw new Error(
      `a service call with { as: 'user' } needs a user, but no request is being handled; pass { user }, or leave out "as" to act as the system`,
    );
  const user = named ? as.user : actor?.user;
  const req = as?.req ?? requestSentByUser(actor, user);
  const requestId = as?.req === undefined ? actor?.requestId : getRequestId(as.req);
  return { user, req, requestId, system: privilege === 'system', service };
}

/** How the user of an operation signed in, with the session or key; undefined unless the user sent the request. */
export function identityOfOperation({
  user,
  req,
}: Pick<OperationContext, 'user' | 'req'>): ReturnType<typeof getIdentity> {
  const identity = req && getIdentity(req);
  return identity?.userId === user?.id ? identity : undefined;
}
