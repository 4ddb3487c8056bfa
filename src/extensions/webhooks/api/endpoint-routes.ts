import type { ExtensionHost, Route, RouteContext } from '../../../extension/index.ts';
import { type EndpointRow, getOwnerKey, serializeEndpoint } from '../endpoints/endpoint.ts';
import type { KeyLimits } from '../endpoints/key-limits.ts';
import { COUNT_WAITING } from '../engine/polling/waiting-sql.ts';
import type { FilterChecks } from '../filters/check.ts';
import { listSubscribableNames } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import {
  createEndpoint,
  type EndpointChangeDependencies,
  removeEndpoint,
  rotateSecret,
  updateEndpoint,
} from './change-endpoints.ts';
import { LIST_ENDPOINTS } from './change-endpoints-sql.ts';
import { createManagedEndpointLoader, createOwnEndpointLoader, serializeLoadedEndpoint } from './endpoint-access.ts';
import {
  createEndpointSchema,
  createUrlCheck,
  endpointShape,
  endpointWithSecretShape,
  rotateSecretSchema,
  updateEndpointSchema,
} from './endpoint-schemas.ts';
import type { EndpointAccess } from './organisation-endpoints.ts';
import { reachesEndpoint } from './portal-grants.ts';

/** Counting the messages that wait to be polled stops at this number. */
const MAX_COUNTED_WAITING = 1000;

/** The routes of endpoints. All of them respond with 404 for another user's endpoint. */
export function endpointRoutes(
  host: ExtensionHost,
  accounts: EndpointChangeDependencies['accounts'],
  settings: WebhookSettings,
  limits: KeyLimits,
  access: EndpointAccess,
  filters: FilterChecks,
): Route[] {
  const parts = { host, accounts, settings, limits, access, checkUrl: createUrlCheck(settings), filters };
  const names = listSubscribableNames(host.resources, Object.keys(settings.events));
  return [...createAndListRoutes(parts, names), ...oneEndpointRoutes(parts, names)];
}

/** @param names the events that endpoints can subscribe to */
function createAndListRoutes(parts: EndpointChangeDependencies, names: readonly string[]): Route[] {
  const { host, settings, access, filters } = parts;
  const common = { policy: settings.policy, tags: ['webhooks'], organisationKeys: true };

  async function listEndpoints(ctx: RouteContext) {
    const { id: owner, callerRole } = await access.findOwner(ctx);
    const statement = { name: 'webhook_list', text: LIST_ENDPOINTS, values: [owner] };
    const rows = await host.database.read<EndpointRow>(statement);
    const isReached = (row: EndpointRow) => {
      const { organisationRole } = getOwnerKey(row);
      if (!reachesEndpoint(ctx.auth, serializeEndpoint(row))) return false;
      if (typeof organisationRole !== 'string') return callerRole === undefined;
      return callerRole !== undefined && access.manages(callerRole, organisationRole);
    };
    const { text } = host.languages.for(ctx.req);
    return Promise.all(
      rows.filter(isReached).map(async (row) => {
        const endpoint = serializeEndpoint(row);
        const owner = access.viewerOf(ctx.user, row);
        return { ...endpoint, filterError: await filters.findError(endpoint, owner, text) };
      }),
    );
  }

  return [
    {
      ...common,
      method: 'POST',
      path: '/webhooks',
      summary: 'Create a webhook endpoint; its secret is shown only once',
      input: createEndpointSchema(settings, names),
      output: endpointWithSecretShape,
      errors: ['FORBIDDEN', 'LIMIT_REACHED', 'RATE_LIMITED', 'RECENT_SIGN_IN_REQUIRED'],
      status: 201,
      operationId: 'createWebhook',
      handler: (ctx) => createEndpoint(parts, ctx),
    },
    {
      ...common,
      method: 'GET',
      path: '/webhooks',
      summary: 'List your webhook endpoints',
      errors: [],
      operationId: 'listWebhooks',
      output: endpointShape.array(),
      handler: listEndpoints,
    },
  ];
}

/** @param names the events that endpoints can subscribe to */
function oneEndpointRoutes(parts: EndpointChangeDependencies, names: readonly string[]): Route[] {
  const { host, settings, limits, access, filters } = parts;
  const common = { policy: settings.policy, tags: ['webhooks'], organisationKeys: true };
  const ownEndpointRoute = { ...common, load: createOwnEndpointLoader(host.database, access) };
  const managedEndpointRoute = { ...common, load: createManagedEndpointLoader(host.database, limits, access) };

  async function readEndpoint(ctx: RouteContext) {
    const loaded = serializeLoadedEndpoint(ctx);
    const filterError = await filters.findError(loaded, ctx.user!, host.languages.for(ctx.req).text);
    const endpoint = { ...loaded, filterError };
    if (endpoint.delivery !== 'poll') return endpoint;
    const statement = {
      name: 'webhook_count_waiting',
      text: COUNT_WAITING,
      values: [endpoint.id, MAX_COUNTED_WAITING],
    };
    const [counted] = await host.database.read<[number, string | null]>(statement);
    return { ...endpoint, waiting: counted![0], oldestWaitingAt: counted![1] };
  }

  return [
    {
      ...ownEndpointRoute,
      method: 'GET',
      path: '/webhooks/:id',
      summary: 'Get a webhook endpoint',
      errors: ['NOT_FOUND'],
      operationId: 'readWebhook',
      output: endpointShape,
      handler: readEndpoint,
    },
    {
      ...managedEndpointRoute,
      method: 'PATCH',
      path: '/webhooks/:id',
      summary: 'Update a webhook endpoint; enabling it resets its failure count',
      errors: ['FORBIDDEN', 'NOT_FOUND'],
      operationId: 'updateWebhook',
      input: updateEndpointSchema(settings, names),
      output: endpointShape,
      handler: (ctx) => updateEndpoint(parts, ctx),
    },
    {
      ...ownEndpointRoute,
      method: 'DELETE',
      path: '/webhooks/:id',
      summary: 'Delete a webhook endpoint and its delivery log',
      errors: ['NOT_FOUND'],
      status: 204,
      operationId: 'deleteWebhook',
      handler: (ctx) => removeEndpoint(host, ctx),
    },
    {
      ...managedEndpointRoute,
      method: 'POST',
      path: '/webhooks/:id/rotate-secret',
      summary: 'Rotate the secret of a webhook endpoint; the new secret is shown only once',
      description:
        'During a grace period, messages are also signed with the old secret. `signing` changes the kind of signature; omit it to keep it.',
      input: rotateSecretSchema,
      output: endpointWithSecretShape,
      errors: ['FORBIDDEN', 'NOT_FOUND', 'RATE_LIMITED', 'RECENT_SIGN_IN_REQUIRED'],
      operationId: 'rotateWebhookSecret',
      handler: (ctx) => rotateSecret(parts, ctx),
    },
  ];
}
