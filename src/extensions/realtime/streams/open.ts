import type { Request, Response } from 'express';
import { getLastingOrganisation, READ_LIMIT, withoutOrganisationChoice } from '../../../declare/actor.ts';
import {
  ApiError,
  type Auth,
  addressOf,
  allowsAction,
  type ClientSlots,
  clientKeyOf,
  type ExtensionHost,
  type Fields,
  type RouteContext,
  setIdentity,
  type Viewer,
  withOrganisationChoice,
  withReadLimit,
} from '../../../extension/index.ts';
import { assertReachesRoute, createScopeCheck } from '../../../rules/credential-scopes.ts';
import { type Listener, limitViewer, type Subscription } from '../fan-out/groups.ts';
import type { Hub } from '../fan-out/hub.ts';
import type { RealtimeMetrics } from '../fan-out/metrics.ts';
import { openStream } from '../fan-out/stream.ts';
import type { RealtimeSettings } from '../settings/settings.ts';
import type { AccessWatch } from './access-watch.ts';
import { type RequestedSubscription, type ResourcePaths, readStreamRequest, type StreamRequest } from './request.ts';
import type { Tickets } from './tickets.ts';

interface Caller {
  user: Viewer | undefined;
  auth: Auth | undefined;
}

interface StreamDependencies {
  hub: Hub;
  watch: AccessWatch;
  slots: ClientSlots;
  tickets: Tickets;
  metrics: RealtimeMetrics;
}

type Service = ExtensionHost['service'];

/** Creates the functions that find the resources to which clients can subscribe, and subscribe to them. */
function createSubscriptions({
  routes,
  resources,
  authenticators,
  service,
}: Pick<ExtensionHost, 'routes' | 'resources' | 'authenticators' | 'service'>) {
  const gateways = new Map(resources.map((gateway) => [gateway.name, gateway]));
  let found: ResourcePaths | undefined;

  /** The resources with a list or read route, by their path. Routes never change after the start. */
  function resourcePaths(): ResourcePaths {
    found ??= new Map(
      routes().flatMap(({ resource, crud, path }) =>
        resource !== undefined && (crud === 'list' || crud === 'read') ? [[path.replace(/\/:id$/, ''), resource]] : [],
      ),
    );
    return found;
  }

  const findCrudRoute = (resource: string | undefined, crud: 'list' | 'read') =>
    resource === undefined ? undefined : routes().find((route) => route.resource === resource && route.crud === crud);

  /** Finds the resource of a subscription and its list route or, for a single record, its read route. */
  function findSubscribableResource({ resource, id, text }: RequestedSubscription) {
    const crud = id === undefined ? 'list' : 'read';
    const [gateway, route] = [gateways.get(resource ?? ''), findCrudRoute(resource, crud)];
    if (gateway !== undefined && route !== undefined) return { gateway, route };
    const isPath = text.startsWith('/');
    const known = isPath
      ? [...resourcePaths()].filter(([, name]) => findCrudRoute(name, crud) !== undefined).map(([path]) => path)
      : [...gateways.keys()].filter((name) => findCrudRoute(name, crud) !== undefined);
    const what = (isPath ? text.replace(/\?.*/s, '') : resource!).slice(0, 100).toWellFormed();
    throw new ApiError(
      'BAD_REQUEST',
      `Cannot subscribe to the unknown ${isPath ? 'path' : 'resource'} "${what}"; ${isPath ? 'paths' : 'resources'}: ${known.join(', ') || 'none'}`,
    );
  }

  async function createSubscription(
    requested: RequestedSubscription,
    { user, auth }: Caller,
    resumed: boolean,
  ): Promise<Subscription> {
    const { gateway, route } = findSubscribableResource(requested);
    // An API key may be limited to other routes than the list or read route of the resource.
    if (auth !== undefined && auth.via !== 'session') {
      createScopeCheck(route, authenticators())(auth);
      assertReachesRoute(route, auth);
    }
    const { text, id, filters } = requested;
    const recordSubscription = await gateway.subscribe({ id, filters, resumed }, { user, req: undefined, service });
    return { text, gateway, id, filters, recordSubscription };
  }

  return { resourcePaths, createSubscription };
}

/**
 * Returns the results of all subscriptions. If some are refused, throws the error of the first one. Its details name each subscription that
 * was refused for the same reason: `subscribe.1` is the second one.
 */
async function settleSubscriptions(subscriptions: readonly Promise<Subscription>[]): Promise<Subscription[]> {
  const settled = await Promise.allSettled(subscriptions);
  const refused = settled.flatMap((one, i) => (one.status === 'rejected' ? [[i, one.reason] as const] : []));
  const fault = refused.find(([, error]) => !(error instanceof ApiError)) ?? refused[0];
  if (fault === undefined) return settled.map((one) => (one as PromiseFulfilledResult<Subscription>).value);
  const [, error] = fault;
  if (!(error instanceof ApiError)) throw error;
  const alike = refused.filter(([, { code }]) => code === error.code);
  const details = Object.fromEntries(alike.map(([i, { message }]) => [`subscribe.${i}`, message]));
  throw new ApiError(error.code, error.message, {
    details: { ...error.details, ...details },
    ...(error.retryAfter !== undefined && { retryAfter: error.retryAfter }),
    cause: error,
  });
}

async function authenticateByTicketOrRequest(
  ctx: RouteContext,
  { ticket }: StreamRequest,
  tickets: Tickets,
): Promise<Caller> {
  if (ticket === undefined) {
    // The choice of a session does not limit the stream, because it may change while the stream is open.
    const organisation = getLastingOrganisation(ctx.user);
    const user = withoutOrganisationChoice(ctx.user);
    return { user: user && organisation ? withOrganisationChoice(user, organisation) : user, auth: ctx.auth };
  }
  if (ctx.user !== undefined) throw new ApiError('BAD_REQUEST', 'Send either a ticket or a token, not both');
  // Ignoring it would send the records of all organisations.
  if (ctx.req.headers['x-organisation'] !== undefined)
    throw new ApiError(
      'BAD_REQUEST',
      'A stream with a ticket takes no X-Organisation; filter by the organisation instead',
    );
  const caller = await tickets.redeemTicket(ticket);
  setIdentity(ctx.req, { via: caller.auth.via, id: caller.auth.id, userId: caller.user.id });
  return caller;
}

/**
 * Checks the organisation that the request names, as a list would: the scope of each resource that belongs to organisations reports an unknown
 * one.
 *
 * @throws ApiError NOT_FOUND
 */
async function checkNamedOrganisation(
  { user }: Caller,
  subscriptions: readonly Subscription[],
  req: Request,
  service: Service,
): Promise<void> {
  if (getLastingOrganisation(user) === undefined) return;
  const declarations = new Set(subscriptions.map(({ gateway }) => gateway.declaration));
  const ofOrganisations = [...declarations].filter(({ fields }) =>
    Object.values(fields as Fields).some(({ spec }) => spec.tenant === true),
  );
  await Promise.all(ofOrganisations.map(({ scope }) => scope?.({ user, req, service })));
}

async function assertMayOpenStreams(
  { user }: Pick<Caller, 'user'>,
  req: Request | undefined,
  { policy }: RealtimeSettings,
  service: Service,
): Promise<void> {
  if (await allowsAction(policy, { user, action: 'realtime', doc: undefined, req, service }, false)) return;
  throw new ApiError(user === undefined ? 'UNAUTHORIZED' : 'FORBIDDEN');
}

/** Creates the function that handles `GET /realtime`, and the one that returns the resources to which clients can subscribe, by path. */
export function createStreamOpener(
  host: Pick<ExtensionHost, 'routes' | 'resources' | 'authenticators' | 'service'>,
  settings: RealtimeSettings,
  { hub, watch, slots, tickets, metrics }: StreamDependencies,
) {
  const { service } = host;
  const { resourcePaths, createSubscription } = createSubscriptions(host);

  function startStream(res: Response, { user, auth }: Caller, subscriptions: Subscription[], release: () => void) {
    const stream = openStream(res, settings.maxBufferedBytes, metrics.countSlowClientDisconnect);
    stream.onClose(release);
    // All streams of a user share a viewer, so the limits of a request are kept apart.
    const viewer = watch.sharedViewerOf(withReadLimit(withoutOrganisationChoice(user), undefined));
    const [readLimit, organisation] = [user?.[READ_LIMIT], getLastingOrganisation(user)];
    const listener: Listener = { stream, viewer, subscriptions, readLimit, organisation };
    if (auth !== undefined) watch.watchListener(listener, auth);
    return listener;
  }

  async function handleOpenStream(ctx: RouteContext): Promise<void> {
    const { req, res, query } = ctx;
    const lastEventId = req.headers['last-event-id'] as string | undefined;
    const request = readStreamRequest(query, lastEventId, settings.maxSubscriptions, resourcePaths());
    const caller = await authenticateByTicketOrRequest(ctx, request, tickets);
    const { user } = caller;
    await assertMayOpenStreams(caller, req, settings, service);
    const release = slots.acquireSlot(
      user === undefined ? { address: clientKeyOf(addressOf(req)) } : { user: user.id },
    );
    try {
      const isResuming = request.after !== undefined;
      const subscriptions = await settleSubscriptions(
        request.subscriptions.map((one) => createSubscription(one, caller, isResuming)),
      );
      await checkNamedOrganisation(caller, subscriptions, req, service);
      if (req.method === 'HEAD' || res.closed) {
        release();
        res.setHeader('Content-Type', 'text/event-stream').end();
        return;
      }
      if (hub.isStopped) throw new ApiError('UNAVAILABLE');
      hub.addStreamAndCatchUp(startStream(res, caller, subscriptions, release), request.after);
    } catch (error) {
      release();
      throw error;
    }
  }

  return { resourcePaths, handleOpenStream };
}

/** Creates the function that checks the subscriptions of a user who has changed. It ends the stream if one of them is no longer allowed. */
export function createRecheck(
  { service, log }: Pick<ExtensionHost, 'service' | 'log'>,
  settings: RealtimeSettings,
  hub: Hub,
) {
  return async (listener: Listener): Promise<void> => {
    const viewContext = { user: limitViewer(listener).user, req: undefined, service };
    const renewSubscription = async (one: Subscription): Promise<Subscription> => {
      const { id, filters } = one;
      return { ...one, recordSubscription: await one.gateway.subscribe({ id, filters, resumed: true }, viewContext) };
    };
    try {
      await assertMayOpenStreams(viewContext, undefined, settings, service);
      listener.subscriptions = await Promise.all(listener.subscriptions.map(renewSubscription));
    } catch (error) {
      if (!(error instanceof ApiError))
        log.error({ err: error }, 'Could not check the subscriptions of a stream again; the stream was ended');
      listener.stream.end('access_changed');
      return;
    }
    await hub.regroupListener(listener);
  };
}
