import { z } from 'zod';
import {
  ApiError,
  DAY_MS,
  type Host,
  isId,
  newId,
  type Route,
  type RouteContext,
  validationError,
} from '../../../extension/index.ts';
import type { KeyLimits } from '../endpoints/key-limits.ts';
import type { Backfills } from '../engine/backfill/backfills.ts';
import { BACKFILL_STATUSES, type BackfillRow } from '../engine/backfill/backfills-sql.ts';
import { listMatchingNames, listSubscribableNames } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import {
  createManagedEndpointLoader,
  createOwnEndpointLoader,
  endpointDisabledError,
  REQUEST_RATE_LIMIT,
  requireEnabledEndpoint,
  serializeLoadedEndpoint,
} from './endpoint-access.ts';
import { eventsSchema } from './endpoint-schemas.ts';
import type { EndpointAccess } from './organisation-endpoints.ts';
import { pastTimeSchema } from './recovery-routes.ts';

const toUtc = (text: string) => new Date(text).toISOString();

/**
 * Creates the schema of the body of a request for a backfill. The schema converts times to UTC with milliseconds.
 *
 * @param names the events that endpoints can subscribe to
 */
export function backfillRequestSchema(settings: WebhookSettings, names: readonly string[]) {
  const { keepEventsDays } = settings;
  const until = pastTimeSchema()
    .refine((text) => Date.parse(text) >= Date.now() - keepEventsDays * DAY_MS, {
      error: `Must not be more than ${keepEventsDays} days ago: events are kept no longer`,
    })
    .transform(toUtc);
  return z
    .strictObject({
      since: pastTimeSchema().transform(toUtc).meta({
        description:
          'If it is longer ago than events are kept, the backfill begins with the oldest event that may be kept.',
      }),
      until: until.optional().meta({ description: 'Default: now.' }),
      events: eventsSchema(settings, names)
        .optional()
        .meta({ description: 'Some of the events to which the endpoint subscribes. Default: all of them.' }),
    })
    .refine(({ since, until: end }) => end === undefined || Date.parse(end) > Date.parse(since), {
      path: ['until'],
      error: 'Must be after since',
    });
}

/** The shape of a backfill in responses. */
const backfillShape = z
  .strictObject({
    id: z.string(),
    status: z.enum(BACKFILL_STATUSES),
    since: z.iso.datetime(),
    until: z.iso.datetime(),
    events: z.array(z.string()).nullable(),
    sent: z.int(),
    reachedAt: z.iso.datetime(),
    createdAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'WebhookBackfill' });

/** Serializes a backfill for the endpoint's owner. */
function serializeBackfill(row: BackfillRow) {
  const [id, , status, since, until, events, sent, reachedAt, createdAt, finishedAt] = row;
  return { id, status, since, until, events, sent, reachedAt, createdAt, finishedAt };
}

/** The error for a second backfill of an endpoint. */
function unfinishedError([id, , status]: BackfillRow): ApiError {
  return new ApiError(
    'CONFLICT',
    status === 'paused'
      ? `The backfill ${id} is paused; resume or cancel it first`
      : `The backfill ${id} is running; cancel it, or try again after it has finished`,
  );
}

/** @throws ApiError VALIDATION_ERROR naming the events to which the endpoint does not subscribe */
function assertSubscribed(events: readonly string[] | undefined, subscribed: readonly string[]): void {
  const others = (events ?? []).filter((name) => !listMatchingNames(name).some((one) => subscribed.includes(one)));
  if (others.length === 0) return;
  const list = others.map((name) => JSON.stringify(name)).join(', ');
  throw validationError({ events: `The webhook does not subscribe to: ${list}` });
}

/** The routes that start backfills, report their progress and control them. */
export function backfillRoutes(
  host: Host,
  settings: WebhookSettings,
  limits: KeyLimits,
  backfills: Backfills,
  access: EndpointAccess,
): Route[] {
  const common = { policy: settings.policy, tags: ['webhooks'], organisationKeys: true };
  const names = listSubscribableNames(host.resources, Object.keys(settings.events));
  const load = createManagedEndpointLoader(host.database, limits, access);
  const loadOwn = createOwnEndpointLoader(host.database, access);

  async function startBackfill(ctx: RouteContext) {
    const { id: endpointId, events: subscribed } = await requireEnabledEndpoint(settings, ctx);
    const { since, until, events } = ctx.input;
    assertSubscribed(events, subscribed);
    const request = { id: newId(), endpointId, since, until, events };
    // The second try is for an earlier backfill that has just ended.
    const backfill = (await backfills.begin(request)) ?? (await backfills.begin(request));
    if (backfill === undefined) throw endpointDisabledError();
    if (backfill[0] !== request.id) throw unfinishedError(backfill);
    return serializeBackfill(backfill);
  }

  async function readBackfill({ params, endpointId }: { params: RouteContext['params']; endpointId: string }) {
    const row = isId(params.backfillId) ? await backfills.read(params.backfillId, endpointId) : undefined;
    if (row === undefined) throw new ApiError('NOT_FOUND');
    return row;
  }

  const changeRoute = (
    verb: 'pause' | 'resume' | 'cancel',
    status: Parameters<Backfills['changeStatus']>[2],
    summary: string,
  ): Route => ({
    ...common,
    load,
    method: 'POST',
    path: `/webhooks/:id/backfills/:backfillId/${verb}`,
    summary,
    rateLimit: REQUEST_RATE_LIMIT,
    output: backfillShape,
    errors: ['BAD_REQUEST', 'CONFLICT', 'FORBIDDEN', 'NOT_FOUND'],
    operationId: `${verb}WebhookBackfill`,
    async handler(ctx) {
      const { id: endpointId } =
        verb === 'resume' ? await requireEnabledEndpoint(settings, ctx) : serializeLoadedEndpoint(ctx);
      const [id] = await readBackfill({ params: ctx.params, endpointId });
      const changed = await backfills.changeStatus(id, endpointId, status);
      if (changed === undefined) throw new ApiError('CONFLICT', 'The backfill has ended');
      return serializeBackfill(changed);
    },
  });

  return [
    {
      ...common,
      load,
      method: 'POST',
      path: '/webhooks/:id/backfill',
      summary: 'Send the events that the endpoint has missed',
      description:
        'Runs in the background. Sends the kept events in the range for which the endpoint has no delivery, as far as its owner may ' +
        'read their records now, with the header `webhook-backfill: true`. `sent` is the number of deliveries ' +
        'that were created, and `reachedAt` the minute up to which events were checked. An endpoint has one unfinished backfill. ' +
        'It stops when the endpoint is disabled.',
      rateLimit: REQUEST_RATE_LIMIT,
      input: backfillRequestSchema(settings, names),
      output: backfillShape,
      errors: ['BAD_REQUEST', 'CONFLICT', 'FORBIDDEN', 'NOT_FOUND'],
      status: 202,
      operationId: 'backfillWebhook',
      handler: startBackfill,
    },
    {
      ...common,
      load: loadOwn,
      method: 'GET',
      path: '/webhooks/:id/backfills',
      summary: 'The last 100 backfills of an endpoint, newest first',
      output: backfillShape.array(),
      errors: ['NOT_FOUND'],
      operationId: 'listWebhookBackfills',
      handler: async (ctx) => (await backfills.list(serializeLoadedEndpoint(ctx).id)).map(serializeBackfill),
    },
    {
      ...common,
      load: loadOwn,
      method: 'GET',
      path: '/webhooks/:id/backfills/:backfillId',
      summary: 'Get the progress of a backfill',
      output: backfillShape,
      errors: ['NOT_FOUND'],
      operationId: 'readWebhookBackfill',
      async handler(ctx) {
        const { id: endpointId } = serializeLoadedEndpoint(ctx);
        return serializeBackfill(await readBackfill({ params: ctx.params, endpointId }));
      },
    },
    changeRoute('pause', 'paused', 'Pause a backfill'),
    changeRoute('resume', 'running', 'Resume a backfill'),
    changeRoute('cancel', 'cancelled', 'Cancel a backfill; deliveries that already wait are still sent'),
  ];
}
