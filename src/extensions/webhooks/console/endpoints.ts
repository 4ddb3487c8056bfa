import { z } from 'zod';
import {
  type Accounts,
  type ConsoleRoute,
  countParameter,
  type Database,
  type Host,
  isAccountActive,
  isId,
  type RouteContext,
  toPage,
  withMeta,
} from '../../../extension/index.ts';
import { backfillRequestSchema } from '../api/backfill-routes.ts';
import { createEndpointSchema, rotateSecretSchema, updateEndpointSchema } from '../api/endpoint-schemas.ts';
import { filterTestSchema } from '../api/filter-test.ts';
import { recoveryRequestSchema } from '../api/recovery-routes.ts';
import { ENDPOINT_COLUMNS, type EndpointRow, getStateOfRow } from '../endpoints/endpoint.ts';
import { ENDPOINT_STATE, ENDPOINT_STATES } from '../endpoints/endpoint-state.ts';
import type { FilterChecks } from '../filters/check.ts';
import { listSubscribableNames } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { type OwnerRoutes, serializeForAdministrator } from './as-owner.ts';
import type { Endpoint, ListedEndpoint } from './responses.ts';
import type { DeliveryStatistics } from './statistics.ts';

const MAX_LIMIT = 100;
const id = z.string().refine(isId, { error: 'Must be an id' });

/** The route of the API checks the values. */
const logQuery = z.strictObject({
  status: z.unknown().optional(),
  event: z.unknown().optional(),
  limit: z.unknown().optional(),
  after: z.unknown().optional(),
});

const listQuery = z.strictObject({
  state: z.enum(ENDPOINT_STATES, { error: `Must be one of: ${ENDPOINT_STATES.join(', ')}` }).optional(),
  owner: id.optional(),
  organisation: id.optional(),
  /** A part of the URL. */
  q: z.string().max(200).optional(),
  after: id.optional(),
  limit: countParameter(MAX_LIMIT, 25),
});

/** Reads a page of the endpoints of all owners, newest first: ids begin with the time. Uses the primary key, or the index by owner. */
function listStatement({ state, owner, organisation, q, after, limit }: z.output<typeof listQuery>) {
  const values: unknown[] = [limit + 1];
  const conditions = [
    [state, (value: string) => `${ENDPOINT_STATE} = ${value}`],
    [owner, (value: string) => `e.owner_id = ${value}`],
    [organisation, (value: string) => `e.owner_id = ${value} and e.organisation_role is not null`],
    [q?.trim() || undefined, (value: string) => `position(lower(${value}) in lower(e.url)) > 0`],
    [after, (value: string) => `e.id < ${value}`],
  ] as const;
  const terms = conditions.flatMap(([value, term]) =>
    value === undefined ? [] : [`and ${term(`$${values.push(value)}::text`)}`],
  );
  const columns = ENDPOINT_COLUMNS.map((column) => `e.${column}`).join(', ');
  const text = `select ${columns} from webhook_endpoints e where e.removed_at is null ${terms.join(' ')} order by e.id desc limit $1`;
  return { text, values };
}

const MOST_WAITING = 10_000;

/** What else is known about an endpoint. $1 endpoint. Uses webhook_deliveries_due_index and webhook_recoveries_running_unique. */
const READ_DETAILS = `
  select e.slow, case when e.previous_secret_until > now() then e.previous_secret_until end,
    (select count(*) from (
      select from webhook_deliveries d where d.endpoint_id = $1 and d.status in ('pending', 'waiting') limit ${MOST_WAITING}) w),
    (select min(d.next_attempt_at) from webhook_deliveries d where d.endpoint_id = $1 and d.status = 'pending'),
    (select r.id from webhook_recoveries r where r.endpoint_id = $1 and r.status = 'running')
  from webhook_endpoints e where e.id = $1`;

type DetailsRow = [
  slow: boolean,
  oldSecretUntil: string | null,
  waiting: number,
  nextAttemptAt: string | null,
  recovery: string | null,
];

/** What the audit trail says about an action on the endpoint that the path names. */
const recordedAs = ({ params }: RouteContext) => ({
  resource: 'webhook',
  record: params.id !== undefined && isId(params.id) ? params.id : null,
});

async function listEndpoints(database: Database, statistics: DeliveryStatistics, ctx: RouteContext) {
  const query = ctx.query as unknown as z.output<typeof listQuery>;
  const found = await database.readSlowly<EndpointRow>(listStatement(query));
  const { page: rows, next } = toPage(found, query.limit, ([endpointId]) => endpointId);
  const charts = await statistics.lastDay(rows.map(([endpointId]) => endpointId));
  const page = rows.map((row): ListedEndpoint => {
    return { ...serializeForAdministrator(row), state: getStateOfRow(row), lastDay: charts.get(row[0])! };
  });
  return withMeta(page, { limit: query.limit, next });
}

async function readEndpoint(
  { database, languages }: Pick<Host, 'database' | 'languages'>,
  as: OwnerRoutes,
  filters: FilterChecks,
  { params, req }: RouteContext,
): Promise<Endpoint> {
  const { row, owner } = await as.load(params.id);
  const [details] = await database.readSlowly<DetailsRow>({ text: READ_DETAILS, values: [row[0]] });
  const [slow = false, oldSecretUntil = null, waiting = 0, nextAttemptAt = null, recovery = null] = details ?? [];
  const endpoint = serializeForAdministrator(row);
  return {
    ...endpoint,
    state: getStateOfRow(row),
    isOwnerActive: isAccountActive(owner),
    slow,
    oldSecretUntil,
    waiting,
    nextAttemptAt,
    recovery,
    filterError: await filters.findError(endpoint, owner, languages.for(req).text),
  };
}

/** The routes of endpoints, for administrators. */
export function endpointConsoleRoutes(
  host: Pick<Host, 'database' | 'resources' | 'languages'>,
  settings: WebhookSettings,
  as: OwnerRoutes,
  statistics: DeliveryStatistics,
  { confirmNewCredential }: Pick<Accounts, 'confirmNewCredential'>,
  filters: FilterChecks,
): ConsoleRoute[] {
  const { database } = host;
  const names = listSubscribableNames(host.resources, Object.keys(settings.events));
  // Only the owner may decide that an endpoint gets more than its API key could read.
  const updateSchema = updateEndpointSchema(settings, names).omit({ apiKeyId: true });

  /** The administrator sees the secret of the endpoint. */
  const confirmSecret = (ctx: RouteContext) => confirmNewCredential(ctx, ctx.input.code);

  async function createEndpoint(ctx: RouteContext) {
    const { owner: ownerId, ...input } = ctx.input;
    return as.perform('createWebhook', ctx, { owner: await as.loadNewOwner(ownerId), input });
  }

  return [
    { method: 'GET', path: '/endpoints', query: listQuery, handler: (ctx) => listEndpoints(database, statistics, ctx) },
    {
      method: 'POST',
      path: '/endpoints',
      input: createEndpointSchema(settings, names).safeExtend({
        owner: z.string().refine(isId, { error: 'Must be the id of a user or an organisation' }),
      }),
      status: 201,
      action: 'endpointCreated',
      check: confirmSecret,
      recordedAs: ({ input }) => ({ resource: 'webhook', record: null, details: { owner: input.owner } }),
      handler: createEndpoint,
    },
    { method: 'GET', path: '/endpoints/:id', handler: (ctx) => readEndpoint(host, as, filters, ctx) },
    {
      method: 'PATCH',
      path: '/endpoints/:id',
      input: updateSchema,
      action: 'endpointUpdated',
      recordedAs: (ctx) => ({ ...recordedAs(ctx), details: { fields: Object.keys(ctx.input) } }),
      handler: as.handle('updateWebhook'),
    },
    {
      method: 'DELETE',
      path: '/endpoints/:id',
      action: 'endpointDeleted',
      recordedAs,
      handler: as.handle('deleteWebhook'),
    },
    { method: 'GET', path: '/endpoints/:id/statistics', handler: as.handle('readWebhookStatistics') },
    ...actionRoutes(settings, as, confirmSecret),
    ...(settings.keepEventsDays > 0 ? backfillConsoleRoutes(settings, as, names) : []),
  ];
}

/** The routes that carry out the actions of the API on an endpoint. */
function actionRoutes(
  settings: WebhookSettings,
  as: OwnerRoutes,
  confirmSecret: NonNullable<ConsoleRoute['check']>,
): ConsoleRoute[] {
  return [
    {
      method: 'POST',
      path: '/endpoints/:id/rotate-secret',
      input: rotateSecretSchema,
      action: 'secretRotated',
      check: confirmSecret,
      recordedAs,
      handler: as.handle('rotateWebhookSecret'),
    },
    {
      method: 'POST',
      path: '/endpoints/:id/filter/test',
      input: filterTestSchema,
      action: 'filterTested',
      recordedAs,
      handler: as.handle('testWebhookFilter'),
    },
    { method: 'POST', path: '/endpoints/:id/test', action: 'testSent', recordedAs, handler: as.handle('testWebhook') },
    {
      method: 'POST',
      path: '/endpoints/:id/recover',
      input: recoveryRequestSchema(settings),
      status: 202,
      action: 'recoveryStarted',
      recordedAs: (ctx) => ({ ...recordedAs(ctx), details: { since: ctx.input.since } }),
      handler: as.handle('recoverWebhook'),
    },
    { method: 'GET', path: '/endpoints/:id/recoveries/:recoveryId', handler: as.handle('readWebhookRecovery') },
    {
      method: 'GET',
      path: '/endpoints/:id/deliveries',
      query: logQuery,
      handler: as.handle('listWebhookDeliveries'),
    },
  ];
}

/** The routes that start and control backfills. */
function backfillConsoleRoutes(settings: WebhookSettings, as: OwnerRoutes, names: readonly string[]): ConsoleRoute[] {
  const changeRoute = (verb: string, action: string): ConsoleRoute => ({
    method: 'POST',
    path: `/endpoints/:id/backfills/:backfillId/${verb}`,
    action,
    recordedAs,
    handler: as.handle(`${verb}WebhookBackfill`),
  });
  return [
    {
      method: 'POST',
      path: '/endpoints/:id/backfill',
      input: backfillRequestSchema(settings, names),
      status: 202,
      action: 'backfillStarted',
      recordedAs: (ctx) => ({ ...recordedAs(ctx), details: { since: ctx.input.since } }),
      handler: as.handle('backfillWebhook'),
    },
    { method: 'GET', path: '/endpoints/:id/backfills', handler: as.handle('listWebhookBackfills') },
    changeRoute('pause', 'backfillPaused'),
    changeRoute('resume', 'backfillResumed'),
    changeRoute('cancel', 'backfillCancelled'),
  ];
}
