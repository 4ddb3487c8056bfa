import { z } from 'zod';

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

/** Serializes an endpoint for its owner. */
export function serializeEndpoint(row: EndpointRow) {
  const [id, , url, events, description, scope, enabled, consecutiveFailures, ...times] = row;
  const [lastSuccessAt, lastFailureAt, lastError, disabledReason, createdAt, updatedAt, publicKey, ...pace] = times;
  const [ordered, limit, windowSeconds, apiKeyId, keyScopes] = pace;
  const working = consecutiveFailures > 0 ? 'failing' : 'active';
  return {
    id,
    url,
    events,
    ...(description === null ? {} : { description }),
    scope,
    enabled,
    ordered,
    rateLimit: limit === null ? null : { limit, windowSeconds: windowSeconds! },
    status: enabled ? working : 'disabled',
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

const time = z.iso.datetime();

/** The shape of an endpoint in responses. */
export const endpointShape = z
  .strictObject({
    id: z.string(),
    url: z.string(),
    events: z.array(z.string()),
    description: z.string().optional(),
    scope: z.enum(['own', 'global']),
    enabled: z.boolean(),
    ordered: z.boolean(),
    rateLimit: z.strictObject({ limit: z.int(), windowSeconds: z.int() }).nullable(),
    status: z.enum(['active', 'failing', 'disabled']),
    lastSuccessAt: time.nullable(),
    lastFailureAt: time.nullable(),
    lastError: z.string().nullable(),
    consecutiveFailures: z.int(),
    disabledReason: z.enum(['gone', 'failing', 'manual', 'password_reset', 'key_ended']).nullable(),
    createdAt: time,
    updatedAt: time,
    signing: z.literal('v1a').optional().meta({ description: 'Messages also carry an ed25519 signature.' }),
    publicKey: z.string().optional().meta({ description: 'The public key that verifies this signature: `whpk_…`.' }),
    apiKeyId: z.string().optional().meta({
      description:
        'The API key that the endpoint is bound to. The endpoint is disabled when the key is revoked or expires.',
    }),
    scopes: z
      .array(z.string())
      .optional()
      .meta({ description: 'The scopes of that key. They limit what the endpoint receives.' }),
  })
  .meta({ id: 'Webhook' });

/** The shape of the response to a create. */
export const endpointWithSecretShape = endpointShape
  .extend({ secret: z.string().meta({ description: 'The secret that signs messages. It is shown only once.' }) })
  .meta({ id: 'WebhookWithSecret' });
