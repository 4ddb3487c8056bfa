import { z } from 'zod';
import { checkUrl, createHostCheck } from '../../../platform/address-guard.ts';
import { boundedArray } from '../../../platform/bounded-array.ts';
import { ApiError, validationError } from '../../../platform/errors.ts';
import { isStorable } from '../../../platform/postgres/storable.ts';
import { DELIVERY_STATUSES, type DeliveryStatus } from '../log/delivery.ts';
import type { WebhookSettings } from '../settings.ts';
import { SIGNINGS } from './signing.ts';

// The same for every name that cannot be called: it must not tell whether a private name exists.
const NOT_PUBLIC = 'Must have a public host name';

const URL_FAULTS: Record<string, string> = {
  invalid: 'Must be a valid URL',
  scheme: 'Must start with http:// or https://',
  https: 'Must start with https://',
  userinfo: 'Must not contain a user name or password',
  encoded: 'Must not have a percent-encoded host name',
  host: NOT_PUBLIC,
  port: 'Must not have port 0',
  address: 'Must not be a private or reserved address',
};

/** The longest time for which saving an endpoint waits for name servers. */
const RESOLVE_MS = 2000;

const required = (what: string) => ({
  error: (issue: { input?: unknown }) =>
    issue.input === undefined || issue.input === null ? 'Is required' : `Must be ${what}`,
});

function urlSchema(settings: WebhookSettings) {
  return z
    .string(required('a string'))
    .trim()
    .max(settings.maxUrlLength, { error: `Must be at most ${settings.maxUrlLength} characters`, abort: true })
    .superRefine((text, context) => {
      const checked = isStorable(text) ? checkUrl(text, settings) : ({ ok: false, reason: 'invalid' } as const);
      if (!checked.ok) context.addIssue({ code: 'custom', message: URL_FAULTS[checked.reason] ?? URL_FAULTS.invalid! });
    })
    .meta({ format: 'uri', examples: ['https://example.com/hooks'] });
}

/**
 * Makes the check of the URL of an endpoint that is about to be stored, after the schema has accepted it.
 *
 * @returns throws ApiError VALIDATION_ERROR when its host name is unknown or has an address that is not public
 */
export function createUrlCheck(settings: WebhookSettings): (url: string) => Promise<void> {
  const isAllowed = createHostCheck({ ...settings, timeoutMs: Math.min(RESOLVE_MS, settings.timeoutMs) });
  return async (url) => {
    if (!(await isAllowed(new URL(url)))) throw validationError({ url: NOT_PUBLIC });
  };
}

function eventsSchema(settings: WebhookSettings, names: readonly string[]) {
  const valid = new Set(names);
  return boundedArray(z.string({ error: 'Must be a string' }).meta({ enum: names }), {
    min: 1,
    max: settings.maxEventsPerEndpoint,
    ...required('an array of event names'),
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
    'One delivery at a time, in the order of the events: the next starts when the one before has succeeded or failed for good.',
});
const whole = (most: number) =>
  z
    .int({ error: `Must be a whole number from 1 to ${most}` })
    .min(1, { error: `Must be a whole number from 1 to ${most}` })
    .max(most, { error: `Must be a whole number from 1 to ${most}` });
const rateLimit = z
  .strictObject(
    { limit: whole(10_000), windowSeconds: whole(3600).default(1) },
    { error: 'Must be { limit, windowSeconds }' },
  )
  .nullable()
  .meta({ description: 'At most `limit` requests in any `windowSeconds`; what is over it waits. null: no limit.' });

/** The body of a create. */
export function createSchema(settings: WebhookSettings, names: readonly string[]) {
  return z.strictObject({
    url: urlSchema(settings),
    events: eventsSchema(settings, names),
    description: description.nullish(),
    scope: z.enum(['own', 'global'], { error: 'Must be one of: own, global' }).default('own'),
    signing: signing.default('v1'),
    ordered: ordered.default(false),
    rateLimit: rateLimit.default(null),
  });
}

/** The body of an update. */
export function updateSchema(settings: WebhookSettings, names: readonly string[]) {
  return z.strictObject({
    url: urlSchema(settings).optional(),
    events: eventsSchema(settings, names).optional(),
    description: description.nullish(),
    enabled: z.boolean({ error: 'Must be true or false' }).optional(),
    apiKeyId: z
      .null({ error: 'Must be null' })
      .optional()
      .meta({ description: 'null: the endpoint is no longer bound to an API key. Only a session may do that.' }),
    ordered: ordered.optional(),
    rateLimit: rateLimit.optional(),
  });
}

/** The body that asks for a new secret: it may be left out. */
export const rotateSchema = z.strictObject({ signing: signing.optional() });

const DAY_MS = 86_400_000;
// Who asks for all that is kept has reckoned the time a moment ago.
const MOMENT_MS = 60_000;

/** The body that asks for a recovery. Gives `since` in UTC, to the millisecond. */
export function recoverSchema({ keepDeliveriesDays }: Pick<WebhookSettings, 'keepDeliveriesDays'>) {
  const error = (issue: { input?: unknown }) =>
    issue.input === undefined || issue.input === null ? 'Is required' : 'Must be an ISO 8601 date, or date and time';
  const since = z
    .union([z.iso.datetime({ offset: true }), z.iso.date()], { error })
    .refine((text) => Date.parse(text) <= Date.now(), { error: 'Must not be in the future', abort: true })
    .refine((text) => Date.parse(text) >= Date.now() - keepDeliveriesDays * DAY_MS - MOMENT_MS, {
      error: `Must not be more than ${keepDeliveriesDays} days ago: deliveries are kept no longer`,
    })
    .transform((text) => new Date(text).toISOString());
  return z.strictObject({ since });
}

const DEFAULT_LIMIT = 50;
const MOST = 100;

/** The query that asks for an explanation. */
export const explainQueryShape = z.object({
  event: z
    .string()
    .meta({ description: 'The id of an event, or of one of your deliveries of it, to any of your endpoints.' }),
});

/**
 * Reads the query that asks for an explanation.
 *
 * @throws ApiError BAD_REQUEST naming the parameter that is unknown, missing or given twice
 */
export function readExplainQuery(query: Record<string, string | string[]>): string {
  const unknown = Object.keys(query).find((name) => name !== 'event');
  if (unknown !== undefined)
    throw new ApiError('BAD_REQUEST', `Unknown parameter "${unknown.slice(0, 100)}"; use event`);
  const { event } = query;
  if (typeof event !== 'string' || event === '') throw new ApiError('BAD_REQUEST', 'event must be the id of an event');
  return event;
}

/** The query of the delivery log. */
export const logQueryShape = z.object({
  status: z.enum(DELIVERY_STATUSES).optional(),
  limit: z.int().min(1).max(MOST).default(DEFAULT_LIMIT),
});

/**
 * Reads the query of the delivery log.
 *
 * @throws ApiError BAD_REQUEST naming the parameter that is unknown, malformed or given twice
 */
export function readLogQuery(query: Record<string, string | string[]>): {
  status: DeliveryStatus | undefined;
  limit: number;
} {
  const unknown = Object.keys(query).find((name) => name !== 'status' && name !== 'limit');
  if (unknown !== undefined)
    throw new ApiError('BAD_REQUEST', `Unknown parameter "${unknown.slice(0, 100)}"; use status, limit`);
  const { status, limit = String(DEFAULT_LIMIT) } = query;
  const known = DELIVERY_STATUSES.find((one) => one === status);
  if (status !== undefined && known === undefined) {
    throw new ApiError('BAD_REQUEST', `status must be one of ${DELIVERY_STATUSES.join(', ')}`);
  }
  const count = typeof limit === 'string' && /^\d{1,3}$/.test(limit) ? Number(limit) : 0;
  if (count < 1 || count > MOST) throw new ApiError('BAD_REQUEST', `limit must be a whole number from 1 to ${MOST}`);
  return { status: known, limit: count };
}
