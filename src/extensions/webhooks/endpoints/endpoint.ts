import { type EndpointState, getEndpointState } from './endpoint-state.ts';
import type { EndpointFilter } from './filter-schema.ts';
import type { HeaderList } from './headers.ts';

/** A row of an endpoint, in the order of `ENDPOINT_COLUMNS`. */
export type EndpointRow = [
  id: string,
  ownerId: string,
  url: string,
  events: string[],
  description: string | null,
  scope: 'own' | 'global',
  enabled: boolean,
  consecutiveFailures: number,
  lastSuccessAt: string | null,
  lastFailureAt: string | null,
  lastError: string | null,
  disabledReason: string | null,
  createdAt: string,
  updatedAt: string,
  publicKey: string | null,
  ordered: boolean,
  rateLimit: number | null,
  rateWindowSeconds: number | null,
  apiKeyId: string | null,
  keyScopes: string[] | null,
  organisationRole: string | null,
  headerMasks: HeaderList | null,
  filter: EndpointFilter | null,
  delivery: 'push' | 'poll',
];

/** The columns of `EndpointRow`, which do not include the secret and the values of headers. */
export const ENDPOINT_COLUMNS = [
  'id',
  'owner_id',
  'url',
  'events',
  'description',
  'scope',
  'enabled',
  'consecutive_failures',
  'last_success_at',
  'last_failure_at',
  'last_error',
  'disabled_reason',
  'created_at',
  'updated_at',
  'public_key',
  'ordered',
  'rate_limit',
  'rate_window_seconds',
  'api_key_id',
  'key_scopes',
  'organisation_role',
  'header_masks',
  'filter',
  'delivery',
];

/** Returns the state of an endpoint for people. */
export function getStateOfRow(row: EndpointRow): EndpointState {
  const [, , , , , , enabled, consecutiveFailures, lastSuccessAt, lastFailureAt] = row;
  return getEndpointState({ enabled, consecutiveFailures, lastSuccessAt, lastFailureAt });
}

/** The owner of an endpoint: a user, or an organisation, whose endpoints receive what a member with a role could read. */
export interface OwnerKey {
  /** The id of the user or of the organisation. */
  owner: string;
  /** The role as which the organisation reads; null or left out if the owner is a user. */
  organisationRole?: string | null | undefined;
}

/** Returns the owner of an endpoint. */
export function getOwnerKey(row: EndpointRow): OwnerKey {
  return { owner: row[1], organisationRole: row[20] };
}

/** Serializes an endpoint for its owner. */
export function serializeEndpoint(row: EndpointRow) {
  const [id, ownerId, url, events, description, scope, enabled, consecutiveFailures, ...times] = row;
  const [lastSuccessAt, lastFailureAt, lastError, disabledReason, createdAt, updatedAt, publicKey, ...pace] = times;
  const [ordered, limit, windowSeconds, apiKeyId, keyScopes, organisationRole, headerMasks, filter, delivery] = pace;
  const state = getStateOfRow(row);
  return {
    id,
    url: delivery === 'poll' ? null : url,
    events,
    ...(description === null ? {} : { description }),
    scope,
    enabled,
    ordered,
    rateLimit: limit === null ? null : { limit, windowSeconds: windowSeconds! },
    // The API has no `retrying`.
    status: state === 'retrying' ? ('active' as const) : state,
    lastSuccessAt,
    lastFailureAt,
    lastError,
    consecutiveFailures,
    disabledReason,
    createdAt,
    updatedAt,
    ...(publicKey === null ? {} : { signing: 'v1a' as const, publicKey }),
    ...(apiKeyId === null ? {} : { apiKeyId, scopes: keyScopes ?? [] }),
    ...(organisationRole === null ? {} : { organisation: ownerId, as: `org:${organisationRole}` }),
    ...(headerMasks === null ? {} : { headers: Object.fromEntries(headerMasks) as Record<string, string> }),
    filter,
    delivery,
  };
}

/** The encryption context of an endpoint's secret, so that a ciphertext copied to another endpoint does not decrypt there. */
export function secretEncryptionContext(endpointId: string): string {
  return `webhook_endpoints/secret/${endpointId}`;
}
