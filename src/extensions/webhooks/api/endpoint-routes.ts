import type { Host, Route, RouteContext } from '../../../extension/index.ts';
import { type EndpointRow, serializeEndpoint } from '../endpoints/endpoint.ts';
import type { KeyLimits } from '../endpoints/key-limits.ts';
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
import {
  createManagedEndpointLoader,
  createOwnEndpointLoader,
  requireCallerId,
  serializeLoadedEndpoint,
} from './endpoint-access.ts';
import {
  createEndpointSchema,
  createUrlCheck,
  endpointShape,
  endpointWithSecretShape,
  rotateSecretSchema,
  updateEndpointSchema,
} from './endpoint-schemas.ts';
import { reachesEndpoint } from './portal-grants.ts';

/** The routes of endpoints. All of them respond with 404 for another user's endpoint. */
export function endpointRoutes(
  host: Host,
  accounts: EndpointChangeDependencies['accounts'],
  settings: WebhookSettings,
  limits: KeyLimits,
): Route[] {
  const parts = { host, accounts, settings, limits, checkUrl: createUrlCheck(settings) };
  const names = listSubscribableNames(host.resources, Object.keys(settings.events));
  return [...createAndListRoutes(parts, names), ...oneEndpointRoutes(parts, names)];
}

/** @param names the events that endpoints can subscribe to */
function createAndListRoutes(parts: EndpointChangeDependencies, names: readonly string[]): Route[] {
  const { host, settings } = parts;
  const common = { policy: settings.policy, tags: ['webhooks'] };

  async function listEndpoints(ctx: RouteContext) {
    const statement = { name: 'webhook_list', text: LIST_ENDPOINTS, values: [requireCallerId(ctx)] };
    const rows = await host.database.read<EndpointRow>(statement);
    return rows.map(serializeEndpoint).filter((endpoint) => reachesEndpoint(ctx.auth, endpoint));
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
  const { host, settings, limits } = parts;
  const common = { policy: settings.policy, tags: ['webhooks'] };
  const ownEndpointRoute = { ...common, load: createOwnEndpointLoader(host.database) };
  const managedEndpointRoute = { ...common, load: createManagedEndpointLoader(host.database, limits) };
  return [
    {
      ...ownEndpointRoute,
      method: 'GET',
      path: '/webhooks/:id',
      summary: 'Get a webhook endpoint',
      errors: ['NOT_FOUND'],
      operationId: 'readWebhook',
      output: endpointShape,
      handler: serializeLoadedEndpoint,
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
