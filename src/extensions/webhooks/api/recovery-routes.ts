import { z } from 'zod';
import { ApiError, DAY_MS, type Host, isId, newId, type Route, type RouteContext } from '../../../extension/index.ts';
import type { KeyLimits } from '../endpoints/key-limits.ts';
import type { Recoveries } from '../engine/recovery/recoveries.ts';
import { READ_RECOVERY, RECOVERY_STATUSES, type RecoveryRow } from '../engine/recovery/recoveries-sql.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import {
  createManagedEndpointLoader,
  createOwnEndpointLoader,
  endpointDisabledError,
  REQUEST_RATE_LIMIT,
  requireEnabledEndpoint,
  serializeLoadedEndpoint,
} from './endpoint-access.ts';
import type { EndpointAccess } from './organisation-endpoints.ts';

// Tolerance for clients that compute the start of the retention period and send it a moment later.
const MOMENT_MS = 60_000;

/** Creates the schema of a time in the past, as ISO 8601. */
export function pastTimeSchema() {
  const error = (issue: { input?: unknown }) =>
    issue.input === undefined || issue.input === null ? 'Is required' : 'Must be an ISO 8601 date, or date and time';
  return z
    .union([z.iso.datetime({ offset: true }), z.iso.date()], { error })
    .refine((text) => Date.parse(text) <= Date.now(), { error: 'Must not be in the future', abort: true });
}

/** Creates the schema of the body of a request for a recovery. The schema converts `since` to UTC with milliseconds. */
export function recoveryRequestSchema({ keepDeliveriesDays }: Pick<WebhookSettings, 'keepDeliveriesDays'>) {
  const since = pastTimeSchema()
    .refine((text) => Date.parse(text) >= Date.now() - keepDeliveriesDays * DAY_MS - MOMENT_MS, {
      error: `Must not be more than ${keepDeliveriesDays} days ago: deliveries are kept no longer`,
    })
    .transform((text) => new Date(text).toISOString());
  return z.strictObject({ since });
}

/** The shape of a recovery in responses. */
const recoveryShape = z
  .strictObject({
    id: z.string(),
    status: z.enum(RECOVERY_STATUSES),
    since: z.iso.datetime(),
    total: z.int(),
    resent: z.int(),
    createdAt: z.iso.datetime(),
    finishedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'WebhookRecovery' });

/** Serializes a recovery for the endpoint's owner. */
function serializeRecovery([id, , status, since, total, resent, createdAt, finishedAt]: RecoveryRow) {
  return { id, status, since, total, resent, createdAt, finishedAt };
}

/** The routes that start a recovery and report its progress. */
export function recoveryRoutes(
  host: Host,
  settings: WebhookSettings,
  limits: KeyLimits,
  { begin, resendPage }: Recoveries,
  access: EndpointAccess,
): Route[] {
  const { database } = host;
  const common = { policy: settings.policy, tags: ['webhooks'], organisationKeys: true };

  async function readRecovery(id: string, endpointId: string): Promise<RecoveryRow> {
    const [row] = await database.read<RecoveryRow>({ text: READ_RECOVERY, values: [id, endpointId] });
    if (row === undefined) throw new ApiError('NOT_FOUND');
    return row;
  }

  async function startOrJoinRecovery(ctx: RouteContext) {
    const { id: endpointId } = await requireEnabledEndpoint(settings, ctx);
    const since: string = ctx.input.since;
    const id = newId();
    // The second try is for a recovery that another request has just started, which the first statement could not see yet.
    const recovery = (await begin(id, endpointId, since)) ?? (await begin(id, endpointId, since));
    if (recovery === undefined) throw endpointDisabledError();
    const [runningId, , , runningSince] = recovery;
    if (runningSince !== since) {
      throw new ApiError('CONFLICT', `A recovery since ${runningSince} is running; try again after it has finished`);
    }
    if (runningId !== id) return serializeRecovery(recovery);
    return serializeRecovery((await resendPage(id))?.recovery ?? (await readRecovery(id, endpointId)));
  }

  return [
    {
      ...common,
      load: createManagedEndpointLoader(database, limits, access),
      method: 'POST',
      path: '/webhooks/:id/recover',
      summary: 'Resend all deliveries that have failed since a given time',
      description:
        'Runs in the background, with the same message ids and restarted retry schedules. `total` is the number of failed deliveries ' +
        'at the time of the request; `resent` is how many of them have been queued again. Deliveries that are no longer failed when ' +
        'the recovery reaches them are skipped. If a recovery with the same `since` is running, the response contains that recovery. ' +
        'It stops when the endpoint is disabled.',
      rateLimit: REQUEST_RATE_LIMIT,
      input: recoveryRequestSchema(settings),
      output: recoveryShape,
      errors: ['BAD_REQUEST', 'CONFLICT', 'FORBIDDEN', 'NOT_FOUND'],
      status: 202,
      operationId: 'recoverWebhook',
      handler: startOrJoinRecovery,
    },
    {
      ...common,
      load: createOwnEndpointLoader(database, access),
      method: 'GET',
      path: '/webhooks/:id/recoveries/:recoveryId',
      summary: 'Get the progress of a recovery',
      output: recoveryShape,
      errors: ['NOT_FOUND'],
      operationId: 'readWebhookRecovery',
      async handler(ctx) {
        const { id: endpointId } = serializeLoadedEndpoint(ctx);
        const { recoveryId } = ctx.params;
        if (!isId(recoveryId)) throw new ApiError('NOT_FOUND');
        return serializeRecovery(await readRecovery(recoveryId, endpointId));
      },
    },
  ];
}
