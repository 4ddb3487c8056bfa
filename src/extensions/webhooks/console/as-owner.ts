import {
  ApiError,
  allowsAction,
  compilePolicy,
  type ExtensionHost,
  getOrganisationRole,
  isAccountActive,
  isId,
  isTransient,
  type Route,
  type RouteContext,
  type Viewer,
  validationError,
} from '../../../extension/index.ts';
import { createOwnerContext, type OwnerRequest } from '../endpoints/administrators.ts';
import { type EndpointRow, getOwnerKey, serializeEndpoint } from '../endpoints/endpoint.ts';
import { READ_ANY_ENDPOINT } from '../endpoints/endpoints-sql.ts';
import type { EndpointOwners } from '../endpoints/owners.ts';
import type { AdministeredEndpoint } from './responses.ts';

/** Serializes an endpoint for an administrator. */
export function serializeForAdministrator(row: EndpointRow): AdministeredEndpoint {
  return { ...serializeEndpoint(row), owner: row[1] };
}

/** An endpoint with its owner. */
export interface LoadedEndpoint {
  row: EndpointRow;
  owner: Viewer;
}

/** Carries out the routes of the API for the owners of endpoints, so that the same rules and limits apply as for requests of the owners. */
export interface OwnerRoutes {
  /** @throws ApiError NOT_FOUND */
  load(id: string | undefined): Promise<LoadedEndpoint>;
  /**
   * Loads the user or the organisation for which an endpoint is created. The organisation acts with the most powerful role.
   *
   * @throws ApiError VALIDATION_ERROR if there is none
   */
  loadNewOwner(id: string): Promise<Viewer>;
  /**
   * Carries out a route. A route that changes something needs an owner whose account is active and who meets the policy of the route.
   *
   * @param operationId the name of the operation in the OpenAPI document
   * @throws ApiError CONFLICT if the account of the owner is not active; FORBIDDEN if the policy refuses the owner; the errors of the route
   */
  perform(operationId: string, ctx: RouteContext, request: OwnerRequest): Promise<unknown>;
  /** Creates the handler that carries out a route for the owner of the endpoint that the path names. */
  handle(operationId: string): Route['handler'];
}

/** Operations that are possible for every owner: administrators watch and delete the endpoints of owners who lost their access, too. */
const FOR_EVERY_OWNER = new Set([
  'deleteWebhook',
  'readWebhookRecovery',
  'listWebhookDeliveries',
  'readWebhookStatistics',
  'listWebhookBackfills',
  'pauseWebhookBackfill',
  'cancelWebhookBackfill',
]);

const inactiveOwnerError = () =>
  new ApiError('CONFLICT', 'The account of the owner is not active, so this is not possible');

/** @param routes the routes of webhooks */
export function createOwnerRoutes(
  { database, log, organisationAccess }: Pick<ExtensionHost, 'database' | 'log' | 'organisationAccess'>,
  owners: Pick<EndpointOwners, 'load'>,
  routes: readonly Route[],
): OwnerRoutes {
  const operations = new Map(
    routes.map(({ operationId, handler, policy = 'authenticated', action = 'custom' }) => [
      operationId,
      { handler, action, policy: compilePolicy(policy, () => undefined) },
    ]),
  );

  const load: OwnerRoutes['load'] = async (id) => {
    if (!isId(id)) throw new ApiError('NOT_FOUND');
    const statement = { name: 'webhook_read_any', text: READ_ANY_ENDPOINT, values: [id] };
    const [row] = await database.read<EndpointRow>(statement);
    const owner = row && (await owners.load(getOwnerKey(row)));
    // The relay removes the endpoints of deleted owners within seconds.
    if (row === undefined || owner === undefined) throw new ApiError('NOT_FOUND');
    return { row, owner };
  };

  /** A policy that throws refuses the owner, as it does in a request of the owner. */
  function onPolicyError(error: unknown): void {
    if (isTransient(error)) throw error;
    log.error({ err: error }, 'the policy of webhooks threw for the owner of an endpoint');
  }

  async function assertAllowed(operationId: string, ctx: RouteContext, user: Viewer): Promise<void> {
    if (FOR_EVERY_OWNER.has(operationId)) return;
    // The roles in an organisation decide instead of the setting.
    if (getOrganisationRole(user) !== undefined) return;
    if (!isAccountActive(user)) throw inactiveOwnerError();
    const { policy, action } = operations.get(operationId)!;
    const args = { user, action, doc: undefined, req: undefined, service: ctx.service };
    if (await allowsAction(policy, args, false, onPolicyError)) return;
    throw new ApiError('FORBIDDEN', 'The owner may not have webhooks: the setting "policy" of webhooks() refuses them');
  }

  const perform: OwnerRoutes['perform'] = async (operationId, ctx, request) => {
    await assertAllowed(operationId, ctx, request.owner);
    try {
      return await operations.get(operationId)!.handler(createOwnerContext(ctx, request));
    } catch (error) {
      // The account was disabled a moment ago. A 401 would say that the administrator is signed out.
      if (error instanceof ApiError && error.status === 401) throw inactiveOwnerError();
      throw error;
    }
  };

  return {
    load,
    async loadNewOwner(id) {
      const organisationRole = organisationAccess()?.roles[0];
      const owner =
        (await owners.load({ owner: id })) ??
        (organisationRole && (await owners.load({ owner: id, organisationRole })));
      if (!owner) throw validationError({ owner: 'There is no user with this id' });
      return owner;
    },
    perform,
    handle: (operationId) => async (ctx) => perform(operationId, ctx, await load(ctx.params.id)),
  };
}
