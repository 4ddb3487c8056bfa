import { z } from 'zod';
import {
  boundedArraySchema,
  checkUrl,
  createHostCheck,
  isStorable,
  newCredentialCode,
  validationError,
} from '../../../extension/index.ts';
import { filterSchema, filterShape } from '../endpoints/filter-schema.ts';
import { SIGNINGS } from '../endpoints/signing.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { headerChangesSchema, newHeadersSchema } from './header-schema.ts';

// Every host name that cannot be called gets the same error. A different error would reveal whether a private name exists.
const NOT_PUBLIC = 'Must have a public host name';

const URL_ERRORS: Record<string, string> = {
  invalid: 'Must be a valid URL',
  scheme: 'Must start with http:// or https://',
  https: 'Must start with https://',
  userinfo: 'Must not contain a user name or password',
  encoded: 'Must not have a percent-encoded host name',
  host: NOT_PUBLIC,
  port: 'Must not have port 0',
  address: 'Must not be a private or reserved address',
};

/** Maximum ms that saving an endpoint waits for name servers. */
const RESOLVE_MS = 2000;

const createRequiredError = (what: string) => ({
  error: (issue: { input?: unknown }) =>
    issue.input === undefined || issue.input === null ? 'Is required' : `Must be ${what}`,
});

function urlSchema(settings: WebhookSettings) {
  return z
    .string(createRequiredError('a string'))
    .trim()
    .max(settings.maxUrlLength, { error: `Must be at most ${settings.maxUrlLength} characters`, abort: true })
    .superRefine((text, context) => {
      const checked = isStorable(text) ? checkUrl(text, settings) : ({ ok: false, reason: 'invalid' } as const);
      if (!checked.ok) context.addIssue({ code: 'custom', message: URL_ERRORS[checked.reason] ?? URL_ERRORS.invalid! });
    })
    .meta({ format: 'uri', examples: ['https://example.com/hooks'] });
}

/**
 * Creates the check of an endpoint's URL, which runs before the endpoint is stored and after the schema has accepted the URL.
 *
 * @returns a function that throws ApiError VALIDATION_ERROR if the host name is unknown or has an address that is not public
 */
export function createUrlCheck(settings: WebhookSettings): (url: string) => Promise<void> {
  const isAllowed = createHostCheck({ ...settings, timeoutMs: Math.min(RESOLVE_MS, settings.timeoutMs) });
  return async (url) => {
    if (!(await isAllowed(new URL(url)))) throw validationError({ url: NOT_PUBLIC });
  };
}

/** Creates the schema of the events to which an endpoint subscribes, or of some of them. */
export function eventsSchema(settings: WebhookSettings, names: readonly string[]) {
  const valid = new Set(names);
  return boundedArraySchema(z.string({ error: 'Must be a string' }).meta({ enum: names }), {
    min: 1,
    max: settings.maxEventsPerEndpoint,
    ...createRequiredError('an array of event names'),
  })
    .superRefine((list, context) => {
      const unknown = [...new Set(list.filter((name) => !valid.has(name)))];
      if (unknown.length === 0) return;
      context.addIssue({
        code: 'custom',
        message: `Unknown events: ${unknown.map((name) => JSON.stringify(name.slice(0, 100))).join(', ')}. Valid events: ${names.join(', ')}`,
      });
    })
    .transform((list) => [...new Set(list)]);
}

const description = z
  .string({ error: 'Must be a string' })
  .max(500, { error: 'Must be at most 500 characters' })
  .refine(isStorable, { error: 'Must not contain invalid characters' });

const signing = z.enum(SIGNINGS, { error: `Must be one of: ${SIGNINGS.join(', ')}` });

const ordered = z.boolean({ error: 'Must be true or false' }).meta({
  description:
    'Sends one delivery at a time, in the order of the events. The next starts when the previous has succeeded or failed for good.',
});
const positiveIntegerSchema = (most: number) =>
  z
    .int({ error: `Must be a whole number from 1 to ${most}` })
    .min(1, { error: `Must be a whole number from 1 to ${most}` })
    .max(most, { error: `Must be a whole number from 1 to ${most}` });
const rateLimit = z
  .strictObject(
    { limit: positiveIntegerSchema(10_000), windowSeconds: positiveIntegerSchema(3600).default(1) },
    { error: 'Must be { limit, windowSeconds }' },
  )
  .nullable()
  .meta({ description: 'At most `limit` requests in any `windowSeconds`; further deliveries wait. null: no limit.' });

const delivery = z.enum(['push', 'poll'], { error: 'Must be one of: push, poll' }).meta({
  description:
    '`push`: messages are sent to `url`. `poll`: the receiver fetches them, and `url`, `ordered`, `rateLimit` and `headers` must be absent.',
});

/** What only endpoints with a URL have. */
interface PushSettings {
  url?: string | null | undefined;
  ordered?: boolean | null | undefined;
  rateLimit?: object | null | undefined;
  headers?: object | null | undefined;
}

const ONLY_PUSH = 'Must be absent: the webhook is polled';

/** Returns the settings of a polled endpoint that only other endpoints may have, each with its error. */
function findPushSettings({ url, ordered, rateLimit, headers }: PushSettings): Record<string, string> {
  return {
    ...(url == null ? {} : { url: ONLY_PUSH }),
    ...(ordered ? { ordered: ONLY_PUSH } : {}),
    ...(rateLimit == null ? {} : { rateLimit: ONLY_PUSH }),
    ...(headers == null ? {} : { headers: ONLY_PUSH }),
  };
}

/** @throws ApiError VALIDATION_ERROR if a change of a polled endpoint names a setting that only other endpoints have */
export function assertFitsDelivery(input: PushSettings, endpoint: { delivery: 'push' | 'poll' }): void {
  const errors = endpoint.delivery === 'poll' ? findPushSettings(input) : {};
  if (Object.keys(errors).length > 0) throw validationError(errors);
}

/** Reports settings of a new endpoint that do not fit its `delivery`. */
function checkDelivery(input: PushSettings & { delivery?: 'push' | 'poll' }, context: z.RefinementCtx): void {
  const isUrlMissing = (input.delivery ?? 'push') === 'push' && input.url == null;
  const errors = input.delivery === 'poll' ? findPushSettings(input) : isUrlMissing ? { url: 'Is required' } : {};
  for (const [name, message] of Object.entries(errors)) context.addIssue({ code: 'custom', path: [name], message });
}

/** A missing URL is reported even if other settings are not valid. */
const ALSO_IF_INVALID = {
  when: ({ value }: { value: unknown }) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

const as = z.string({ error: 'Must be a role in the organisation, such as org:admin' }).max(100).meta({
  description:
    'The role in the organisation, such as `org:admin`: the endpoint receives what a member with this role may read. At most the role of the caller.',
});

/** Creates the schema of the body of a request to create an endpoint. @param names the events that endpoints can subscribe to */
export function createEndpointSchema(settings: WebhookSettings, names: readonly string[]) {
  const schema = z.strictObject({
    url: urlSchema(settings).nullish(),
    events: eventsSchema(settings, names),
    description: description.nullish(),
    scope: z.enum(['own', 'global'], { error: 'Must be one of: own, global' }).default('own'),
    signing: signing.default('v1'),
    ordered: ordered.default(false),
    rateLimit: rateLimit.default(null),
    as: as.optional(),
    code: newCredentialCode,
    headers: newHeadersSchema.optional(),
    filter: filterSchema.default(null),
    delivery: delivery.default('push'),
  });
  return schema.superRefine(checkDelivery, ALSO_IF_INVALID);
}

/** Creates the schema of the body of a request to update an endpoint. @param names the events that endpoints can subscribe to */
export function updateEndpointSchema(settings: WebhookSettings, names: readonly string[]) {
  return z.strictObject({
    url: urlSchema(settings).optional(),
    events: eventsSchema(settings, names).optional(),
    description: description.nullish(),
    enabled: z.boolean({ error: 'Must be true or false' }).optional(),
    apiKeyId: z
      .null({ error: 'Must be null' })
      .optional()
      .meta({ description: 'null: unbinds the endpoint from its API key. Only a session may do that.' }),
    ordered: ordered.optional(),
    rateLimit: rateLimit.optional(),
    as: as.optional(),
    headers: headerChangesSchema.optional(),
    filter: filterSchema.optional(),
  });
}

/** The schema of the body of a request for a new secret. The body is optional. */
export const rotateSecretSchema = z.strictObject({ signing: signing.optional(), code: newCredentialCode });

const time = z.iso.datetime();

/** The shape of an endpoint in responses. */
export const endpointShape = z
  .strictObject({
    id: z.string(),
    url: z.string().nullable().meta({ description: 'null if the endpoint is polled.' }),
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
    organisation: z
      .string()
      .optional()
      .meta({ description: 'The id of the organisation that the endpoint belongs to.' }),
    as: z
      .string()
      .optional()
      .meta({ description: 'The role in the organisation that decides what the endpoint receives: `org:admin`.' }),
    headers: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'The custom headers, with masked values such as `••••4e57`. Left out if there are none.' }),
    filter: filterShape,
    filterError: z.string().nullable().meta({
      description:
        'The first condition of the filter that cannot be used any more, so that no event meets it. null: none.',
    }),
    delivery: z.enum(['push', 'poll']),
    waiting: z.int().optional().meta({
      description:
        'How many messages wait to be polled and acknowledged; counting stops at 1,000. Only for a single polled endpoint.',
    }),
    oldestWaitingAt: time.nullable().optional().meta({ description: 'Since when the first of these messages waits.' }),
  })
  .meta({ id: 'Webhook' });

/** The shape of the response to a create. */
export const endpointWithSecretShape = endpointShape
  .extend({ secret: z.string().meta({ description: 'The secret that signs messages. It is shown only once.' }) })
  .meta({ id: 'WebhookWithSecret' });
