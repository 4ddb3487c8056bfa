import { z } from 'zod';
import { DELIVERY_STATUSES } from '../log/delivery.ts';
import { REASONS, type Reason } from '../log/explain.ts';
import { RECOVERY_STATUSES } from '../recovery/recoveries.ts';

const time = z.iso.datetime();

/** The shape of an endpoint in answers. */
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
    signing: z.literal('v1a').optional().meta({ description: 'Messages carry an ed25519 signature, too.' }),
    publicKey: z.string().optional().meta({ description: 'What it is verified with: `whpk_…`.' }),
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

/** The shape of the answer to a create. */
export const endpointWithSecretShape = endpointShape
  .extend({ secret: z.string().meta({ description: 'What messages are signed with. It is shown this once.' }) })
  .meta({ id: 'WebhookWithSecret' });

/** The shape of a delivery in answers. */
export const deliveryShape = z
  .strictObject({
    id: z.string(),
    type: z.string(),
    messageId: z.string(),
    status: z.enum(DELIVERY_STATUSES),
    attempts: z.int(),
    statusCode: z.int().nullable(),
    durationMs: z.int().nullable(),
    error: z.string().nullable(),
    nextAttemptAt: time.nullable(),
    response: z.string().nullable(),
    payload: z.string().nullable().meta({
      description: 'The start of the body. Null, like `response`, when the caller may no longer read the body.',
    }),
    payloadTruncated: z.boolean(),
    attemptLog: z.array(
      z.strictObject({
        at: time,
        statusCode: z.int().nullable(),
        durationMs: z.int().nullable(),
        error: z.string().nullable(),
      }),
    ),
  })
  .meta({ id: 'WebhookDelivery' });

/** The shape of a recovery in answers. */
export const recoveryShape = z
  .strictObject({
    id: z.string(),
    status: z.enum(RECOVERY_STATUSES),
    since: time,
    total: z.int(),
    resent: z.int(),
    createdAt: time,
    finishedAt: time.nullable(),
  })
  .meta({ id: 'WebhookRecovery' });

/** The shape of an explanation in answers. */
export const explanationShape = z
  .strictObject({
    event: z.string(),
    reason: z.enum(Object.keys(REASONS) as [Reason, ...Reason[]]),
    message: z.string().meta({ description: 'What the reason means.' }),
    name: z.string().optional(),
    delivery: z
      .strictObject({
        id: z.string(),
        status: z.enum(DELIVERY_STATUSES),
        attempts: z.int(),
        error: z.string().nullable(),
      })
      .optional(),
  })
  .meta({ id: 'WebhookExplanation' });
