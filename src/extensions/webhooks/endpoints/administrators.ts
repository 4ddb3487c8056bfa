import type { RouteContext, Viewer } from '../../../extension/index.ts';
import type { EndpointRow } from './endpoint.ts';

/** An administrator who works in the console on the endpoint of another user. */
interface Administrator {
  /** Null in development, where the console has no sign-in. */
  id: string | null;
}

const administrators = new WeakMap<object, Administrator>();

/** What an administrator does for the owner of an endpoint, as a route of the API takes it. */
export interface OwnerRequest {
  owner: Viewer;
  /** The endpoint; left out to create one. */
  row?: EndpointRow;
  params?: Record<string, string>;
  input?: unknown;
}

/**
 * Turns a request of the console into one that a route of the API handles for the owner of an endpoint. The limits and policies of the
 * owner apply. Events name the administrator.
 */
export function createOwnerContext(ctx: RouteContext, { owner, row, params, input }: OwnerRequest): RouteContext {
  const context = {
    ...ctx,
    user: owner,
    auth: undefined,
    doc: row,
    params: params ?? ctx.params,
    input: input ?? ctx.input,
  };
  administrators.set(context, { id: ctx.user?.id ?? null });
  return context;
}

const senders = new WeakMap<object, RouteContext>();

/**
 * Turns the request of a member, of a key or of a link into one of the organisation that owns an endpoint, which a route of the API handles. What
 * the organisation may read applies.
 *
 * @param viewer the organisation, under the role of the endpoint
 */
export function createOrganisationContext(ctx: RouteContext, viewer: Viewer): RouteContext {
  const context = { ...ctx, user: viewer };
  senders.set(context, getSender(ctx));
  const administrator = administrators.get(ctx);
  if (administrator !== undefined) administrators.set(context, administrator);
  return context;
}

/** Returns a request with the user who sent it, whose credentials count; the same request if it runs for no organisation. */
export function getSender(ctx: RouteContext): RouteContext {
  return senders.get(ctx) ?? ctx;
}

/** Returns the administrator on whose behalf a request of an owner runs; undefined if the owner sent it. */
export function getAdministrator(ctx: Partial<RouteContext>): Administrator | undefined {
  return administrators.get(ctx);
}

/** The request that policies get; undefined for an administrator, because policies expect a request of the owner. */
export function getRequestForPolicy(ctx: Pick<RouteContext, 'req'>): RouteContext['req'] | undefined {
  return getAdministrator(ctx) === undefined ? ctx.req : undefined;
}
