import { z } from 'zod';
import { gatewaysByName, type Host, parseCreatedMs, type Route, type RouteContext } from '../../../extension/index.ts';
import { isKeptSql } from '../deliveries/deliveries-sql.ts';
import { type EndpointFilter, filterSchema } from '../endpoints/filter-schema.ts';
import { isApiKey, type KeyLimits } from '../endpoints/key-limits.ts';
import type { FilterChecks } from '../filters/check.ts';
import {
  createFilterEvaluator,
  type FailedCondition,
  type FilterEvaluator,
  failedConditionShape,
  translateFailed,
} from '../filters/evaluate.ts';
import { TEST_EVENT } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { type DeliveryRow, listDeliveriesSql } from './delivery-log-sql.ts';
import {
  createManagedEndpointLoader,
  getCallerAudience,
  REQUEST_RATE_LIMIT,
  serializeLoadedEndpoint,
} from './endpoint-access.ts';
import { type KnownChange, readChangeFromBody } from './known-events.ts';
import type { EndpointAccess } from './organisation-endpoints.ts';
import { type DeliverySerializer, groupIdsByBodySize } from './serialize-delivery.ts';

const MAX_EVENTS = 20;
const RESULTS = ['match', 'no_match', 'unknown'] as const;

/** The result of a filter for an event. */
interface FilterResult {
  result: (typeof RESULTS)[number];
  failed: FailedCondition | null;
}

/** The schema of the body of a request to test a filter. The body is optional. */
export const filterTestSchema = z.strictObject({ filter: filterSchema.optional() });

/** The shape of the response. */
const filterTestShape = z
  .array(
    z.strictObject({
      deliveryId: z.string(),
      type: z.string(),
      createdAt: z.iso.datetime(),
      result: z.enum(RESULTS).meta({
        description:
          '`unknown`: you may no longer read the body, or the result depends on which fields an update changed, which the body does not contain.',
      }),
      failed: failedConditionShape.nullable(),
    }),
  )
  .meta({ id: 'WebhookFilterTest' });

const hasChangedCondition = (filter: EndpointFilter) =>
  Object.values(filter).some(({ changed }) => Array.isArray(changed));

/** @param change undefined if the event is about no record: no filter applies to it */
async function testChange(
  evaluator: FilterEvaluator,
  filter: EndpointFilter,
  change: KnownChange | undefined,
): Promise<FilterResult> {
  const failed = change === undefined ? undefined : await evaluator.findFailed(filter, change);
  if (failed !== undefined) return { result: 'no_match', failed };
  const isUnknown = change?.knowsChangedFields === false && hasChangedCondition(filter);
  return { result: isUnknown ? 'unknown' : 'match', failed: null };
}

/** Creates the handler of requests to test a filter. */
function createFilterTester(
  { database, resources, service, languages }: Pick<Host, 'database' | 'resources' | 'service' | 'languages'>,
  settings: Pick<WebhookSettings, 'events' | 'keepDeliveriesDays'>,
  filters: FilterChecks,
  { readableBodies }: Pick<DeliverySerializer, 'readableBodies'>,
) {
  const gateways = gatewaysByName(resources);
  const text = listDeliveriesSql({ status: undefined, byType: false, isContinued: false }, isKeptSql(settings));

  return async (ctx: RouteContext) => {
    const endpoint = serializeLoadedEndpoint(ctx);
    const { filter = endpoint.filter } = ctx.input as z.output<typeof filterTestSchema>;
    // A key that sets a filter binds the endpoint to itself, so the filter is tested as for this key.
    const scopes = isApiKey(ctx.auth) ? ctx.auth.scopes : endpoint.scopes;
    if (ctx.input.filter !== undefined) await filters.assertValid({ ...endpoint, filter, scopes }, ctx.user!);
    // Tests of the endpoint are left out, so some more are read.
    const found = await database.read<DeliveryRow>({ text, values: [endpoint.id, 2 * MAX_EVENTS] });
    const rows = found.filter(([, type]) => type !== TEST_EVENT).slice(0, MAX_EVENTS);
    const user = filters.viewerOf(ctx.user!, scopes);
    const evaluator = createFilterEvaluator(gateways, { user, req: undefined, service });
    const results = new Map<string, FilterResult>();
    const types = new Map(rows.map(([id, type]) => [id, type]));
    for (const ids of groupIdsByBodySize(rows)) {
      const bodies = await readableBodies(getCallerAudience(ctx), ids);
      const tested = Array.from(bodies, async ([id, body]) => {
        const change = readChangeFromBody(gateways, settings.events, types.get(id)!, body);
        results.set(id, await testChange(evaluator, filter ?? {}, change));
      });
      await Promise.all(tested);
    }
    const { text: translate } = languages.for(ctx.req);
    return rows.map(([id, type]) => {
      const { result, failed } = results.get(id) ?? { result: 'unknown', failed: null };
      const createdAt = new Date(parseCreatedMs(id)).toISOString();
      return { deliveryId: id, type, createdAt, result, failed: failed && translateFailed(failed, translate) };
    });
  };
}

/** The route that tests a filter with the delivery log. */
export function filterTestRoute(
  host: Host,
  settings: WebhookSettings,
  limits: KeyLimits,
  filters: FilterChecks,
  deliverySerializer: Pick<DeliverySerializer, 'readableBodies'>,
  access: EndpointAccess,
): Route {
  return {
    method: 'POST',
    path: '/webhooks/:id/filter/test',
    policy: settings.policy,
    tags: ['webhooks'],
    organisationKeys: true,
    summary: 'Test a filter with the last events of the delivery log',
    description:
      `Returns the last ${MAX_EVENTS} deliveries, newest first, and whether each event meets the filter. Without \`filter\`, the filter of the ` +
      'endpoint is tested. Nothing is changed or sent. Conditions on related records are evaluated with their current state.',
    rateLimit: REQUEST_RATE_LIMIT,
    load: createManagedEndpointLoader(host.database, limits, access),
    input: filterTestSchema,
    output: filterTestShape,
    errors: ['FORBIDDEN', 'NOT_FOUND'],
    operationId: 'testWebhookFilter',
    handler: createFilterTester(host, settings, filters, deliverySerializer),
  };
}
