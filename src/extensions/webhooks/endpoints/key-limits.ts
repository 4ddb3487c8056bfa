import {
  ApiError,
  type Auth,
  type AuthorizationRequest,
  createReadLimits,
  createReadScopeCheck,
  type ExtensionHost,
  findOrganisationField,
  findOrganisations,
  gatewaysByName,
  type ReadLimit,
  type ResourceGateway,
  type RouteContext,
} from '../../../extension/index.ts';
import { listSentResources, TEST_EVENT } from '../settings/events.ts';
import { getAdministrator } from './administrators.ts';
import type { serializeEndpoint } from './endpoint.ts';

type Endpoint = ReturnType<typeof serializeEndpoint>;

/** Reasons for which an endpoint was disabled that only its signed-in owner may override. */
export const OWNER_ONLY_REASONS: readonly string[] = ['key_ended', 'password_reset'];

/** What a request made with an API key may do with webhook endpoints. Sessions and links to the portal are not limited. */
export interface KeyLimits {
  /**
   * Checks that a key may read the records of events.
   *
   * @param names as an endpoint subscribes to them: `post.created`, `post.*`, `*`
   * @throws ApiError FORBIDDEN, naming the scope
   */
  assertKeyMayReadEvents(auth: Auth, names: readonly string[]): void;
  /** Whether a key may read the records of events. */
  reads(auth: Auth, names: readonly string[]): boolean;
  /** The resources whose records a credential may read, which decides what is expanded in events; undefined if it is not limited. */
  findReadLimit(auth: Auth): ReadLimit | undefined;
  /**
   * Checks that a request may change an endpoint or have deliveries sent to it. A key must be able to read everything that the endpoint
   * receives, and the endpoint must not be bound to another key.
   *
   * @throws ApiError FORBIDDEN
   */
  assertMayManage(asking: Pick<AuthorizationRequest, 'auth'>, endpoint: Endpoint): void;
  /**
   * Checks that only the signed-in owner enables an endpoint that was disabled because credentials ended.
   *
   * @throws ApiError FORBIDDEN
   */
  assertMayEnable(asking: Pick<RouteContext, 'auth'>, endpoint: Endpoint): void;
  /** Returns the ids of those keys that have ended. */
  ended(ids: readonly string[]): Promise<readonly string[]>;
  /** Returns when a key expires; null if it never does. */
  expiryOf(id: string): Promise<string | null>;
}

/** Whether a request was made with an API key, or another credential with scopes. */
export function isApiKey(auth: Auth | undefined): auth is Auth {
  return auth !== undefined && auth.via !== 'session' && auth.via !== 'portal';
}

/** Returns the key that an endpoint is bound to, with its scopes; undefined if the endpoint is bound to none. */
export function toBoundKey({
  apiKeyId,
  scopes = [],
  organisation,
}: Pick<Endpoint, 'apiKeyId' | 'scopes' | 'organisation'>): Auth | undefined {
  if (apiKeyId === undefined) return undefined;
  return { via: 'api-key', scopes, id: apiKeyId, ...(organisation !== undefined && { organisation }) };
}

/** Creates the limits of API keys. A key needs the scopes of the list and read routes of an event's resource. */
export function createKeyLimits(host: Pick<ExtensionHost, 'resources' | 'routes' | 'authenticators'>): KeyLimits {
  const sent = listSentResources(host.resources);
  const organisations = findOrganisations(host.resources);
  const isOfOrganisations = (gateway: ResourceGateway) =>
    gateway === organisations || findOrganisationField(gateway) !== undefined;
  const gateways = gatewaysByName(host.resources);
  const findApiKeyWatch = () => host.authenticators().find((one) => one.watch?.via === 'api-key')?.watch;

  const assertMayRead = createReadScopeCheck(host.routes, host.authenticators);

  function assertKeyMayReadEvents(auth: Auth, list: readonly string[]): void {
    if (!isApiKey(auth)) return;
    for (const name of list) {
      const group = name.slice(0, name.indexOf('.'));
      if (name === TEST_EVENT) continue;
      // The key of an organisation gets no other events, whatever its endpoint subscribes to.
      const reachable = auth.organisation === undefined ? sent : sent.filter(isOfOrganisations);
      if (name === '*') for (const resource of reachable) assertMayRead(auth, resource.name);
      // Events that the app publishes belong to no resource. They are published for an owner.
      const gateway = gateways.get(group);
      if (gateway !== undefined) assertMayRead(auth, gateway.name);
      else assertMayRead({ ...auth, organisation: undefined }, '');
    }
  }

  return {
    assertKeyMayReadEvents,
    findReadLimit: createReadLimits(host.routes, host.authenticators),
    reads(auth, list) {
      try {
        assertKeyMayReadEvents(auth, list);
        return true;
      } catch (error) {
        if (error instanceof ApiError) return false;
        throw error;
      }
    },
    assertMayManage({ auth }, { apiKeyId, events }) {
      if (!isApiKey(auth)) return;
      if (apiKeyId !== undefined && apiKeyId !== auth.id) {
        throw new ApiError('FORBIDDEN', 'The webhook is bound to another API key; use that key or a session');
      }
      assertKeyMayReadEvents(auth, events);
    },
    assertMayEnable(ctx, { enabled, disabledReason }) {
      if (enabled || !OWNER_ONLY_REASONS.includes(disabledReason ?? '')) return;
      if (getAdministrator(ctx) !== undefined) throw ownerOnlyError();
      if (!isApiKey(ctx.auth)) return;
      throw new ApiError('FORBIDDEN', 'The webhook was disabled when credentials ended; use a session to enable it');
    },
    // Without an authenticator of API keys, all keys count as ended.
    ended: async (ids) => findApiKeyWatch()?.ended(ids) ?? ids,
    expiryOf: async (id) => (await findApiKeyWatch()?.expiresAt?.(id)) ?? null,
  };
}

/** The error for an administrator who would enable an endpoint that only its owner may enable. */
export function ownerOnlyError(): ApiError {
  return new ApiError(
    'FORBIDDEN',
    'The webhook was disabled when credentials of its owner ended; only the owner can enable it',
  );
}
