import { type EndpointState, getEndpointState } from './endpoint-state.ts';

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
];

/** The columns of `EndpointRow`, which do not include the secret. */
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
];

/** Returns the state of an endpoint for people. */
export function getStateOfRow(row: EndpointRow): EndpointState {
  const [, , , , , , enabled, consecutiveFailures, lastSuccessAt, lastFailureAt] = row;
  return getEndpointState({ enabled, consecutiveFailures, lastSuccessAt, lastFailureAt });
}

/** Serializes an endpoint for its owner. */
export function serializeEndpoint(row: EndpointRow) {
  const [id, , url, events, description, scope, enabled, consecutiveFailures, ...times] = row;
  const [lastSuccessAt, lastFailureAt, lastError, disabledReason, createdAt, updatedAt, publicKey, ...pace] = times;
  const [ordered, limit, windowSeconds, apiKeyId, keyScopes] = pace;
  const state = getStateOfRow(row);
  return {
    id,
    url,
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
  };
}

/** The encryption context of an endpoint's secret, so that a ciphertext copied to another endpoint does not decrypt there. */
export function secretEncryptionContext(endpointId: string): string {
  return `webhook_endpoints/secret/${endpointId}`;
}
