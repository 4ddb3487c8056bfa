import type { Request } from 'express';
import type { ExtensionHost } from '../../declare/extension.ts';
import type { ResourceGateway } from '../../declare/host.ts';
import { allows, type Viewer } from '../../declare/policy.ts';
import type { Auth, Route, RouteContext } from '../../declare/route.ts';
import { createScopeCheck } from '../../declare/scope.ts';
import { ApiError } from '../../platform/errors.ts';
import { addressOf, clientKey } from '../../platform/http/client-address.ts';
import { setIdentity } from '../../platform/http/identity.ts';
import type { AccessWatch } from './access-watch.ts';
import type { Listener, Subscription } from './groups.ts';
import type { Hub } from './hub.ts';
import type { RealtimeMetrics } from './metrics.ts';
import type { RealtimeSettings } from './settings.ts';
import { openStream } from './stream.ts';
import { type RequestedSubscription, readStreamRequest, type StreamRequest } from './stream-request.ts';
import type { StreamSlots } from './stream-slots.ts';
import type { Tickets } from './tickets.ts';

interface Who {
  user: Viewer | undefined;
  auth: Auth | undefined;
}

interface Parts {
  hub: Hub;
  watch: AccessWatch;
  slots: StreamSlots;
  tickets: Tickets;
  metrics: RealtimeMetrics;
}

/** The routes by which records are listed and read: what has none is not followed either. */
function createFollowable({ routes, resources }: Pick<ExtensionHost, 'routes' | 'resources'>) {
  const gateways = new Map(resources.map((gateway) => [gateway.name, gateway]));
  const routeOf = (resource: string, crud: 'list' | 'read') =>
    routes().find((route) => route.resource === resource && route.crud === crud);
  return ({ resource, id }: RequestedSubscription): { gateway: ResourceGateway; route: Route } => {
    const crud = id === undefined ? 'list' : 'read';
    const [gateway, route] = [gateways.get(resource), routeOf(resource, crud)];
    if (gateway !== undefined && route !== undefined) return { gateway, route };
    const names = [...gateways.keys()].filter((name) => routeOf(name, crud) !== undefined);
    const what = resource.slice(0, 100).toWellFormed();
    throw new ApiError(
      'BAD_REQUEST',
      `There is no resource "${what}" to subscribe to; resources: ${names.join(', ') || 'none'}`,
    );
  };
}

/** Makes what opens streams, and checks them again when their users change. */
export function createStreamOpener(
  host: Pick<ExtensionHost, 'routes' | 'resources' | 'authenticators' | 'service' | 'log'>,
  settings: RealtimeSettings,
  parts: Parts,
) {
  const { service, log } = host;
  const followable = createFollowable(host);

  /** A credential that is no session follows only what it could list or read. */
  function assertReach(route: Route, auth: Auth | undefined): void {
    if (auth !== undefined && auth.via !== 'session') createScopeCheck(route, host.authenticators())(auth);
  }

  async function begin(requested: RequestedSubscription, { user, auth }: Who, goesOn: boolean): Promise<Subscription> {
    const { gateway, route } = followable(requested);
    assertReach(route, auth);
    const { text, id, filters } = requested;
    const following = await gateway.subscribe({ id, filters, resumed: goesOn }, { user, req: undefined, service });
    return { text, gateway, id, filters, following };
  }

  async function signedIn(ctx: RouteContext, { ticket }: StreamRequest): Promise<Who> {
    if (ticket === undefined) return ctx;
    if (ctx.user !== undefined) throw new ApiError('BAD_REQUEST', 'Give a ticket or a token, not both');
    const who = await parts.tickets.use(ticket);
    setIdentity(ctx.req, { via: who.auth.via, id: who.auth.id, userId: who.user.id });
    return who;
  }

  async function assertPolicy({ user }: Pick<Who, 'user'>, req: Request | undefined): Promise<void> {
    const args = { user, action: 'realtime', doc: undefined, req, service };
    if (await allows(settings.policy, args, false)) return;
    throw new ApiError(user === undefined ? 'UNAUTHORIZED' : 'FORBIDDEN');
  }

  return {
    /** Opens a stream as an answer. */
    async open(ctx: RouteContext): Promise<void> {
      const { req, res } = ctx;
      const lastEventId = req.headers['last-event-id'];
      const request = readStreamRequest(ctx.query, lastEventId as string | undefined, settings.maxSubscriptions);
      const who = await signedIn(ctx, request);
      const { user, auth } = who;
      await assertPolicy(who, req);
      const release = parts.slots.acquire(
        user === undefined ? { address: clientKey(addressOf(req)) } : { user: user.id },
      );
      try {
        const goesOn = request.after !== undefined;
        const subscriptions = await Promise.all(request.subscriptions.map((one) => begin(one, who, goesOn)));
        if (req.method === 'HEAD' || res.closed) {
          release();
          res.setHeader('Content-Type', 'text/event-stream').end();
          return;
        }
        if (parts.hub.isStopped) throw new ApiError('UNAVAILABLE');
        const stream = openStream(res, settings.maxBufferedBytes, parts.metrics.cutOff);
        stream.onClose(release);
        const listener: Listener = { stream, person: parts.watch.personOf(user), subscriptions };
        if (auth !== undefined) parts.watch.add(listener, auth);
        parts.hub.open(listener, request.after);
      } catch (error) {
        release();
        throw error;
      }
    },
    /** Checks again what a user follows who has changed: where they may not any longer, the stream ends. */
    async recheck(listener: Listener): Promise<void> {
      const { person, stream, subscriptions } = listener;
      try {
        const viewContext = { user: person.user, req: undefined, service };
        await assertPolicy(viewContext, undefined);
        listener.subscriptions = await Promise.all(
          subscriptions.map(async (one) => {
            const { id, filters } = one;
            return { ...one, following: await one.gateway.subscribe({ id, filters, resumed: true }, viewContext) };
          }),
        );
      } catch (error) {
        if (!(error instanceof ApiError))
          log.error({ err: error }, 'a stream ends: its subscriptions cannot be checked');
        stream.end('access_changed');
        return;
      }
      await parts.hub.regroup(listener);
    },
  };
}
