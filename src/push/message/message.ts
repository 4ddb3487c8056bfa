import { z } from 'zod';
import {
  boundedTextSchema,
  type DevicePlatform,
  MAX_TOKEN_LENGTH,
  notificationDataError,
  PLATFORMS,
  SIMULATED_PREFIX,
  type TokenRule,
  tokenError,
} from '../../accounts/devices/index.ts';
import { type ErrorDetails, MAX_DETAILS, validationError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { boundedArraySchema } from '../../platform/helpers/json/bounded-array.ts';
import { checkUrl } from '../../platform/http/address-guard/index.ts';

/** Stands for a push id when the size of a message is computed: it has the length of every push id. */
export const PLACEHOLDER_ID = '0'.repeat(24);

/** Maximum entries in each of `to`, `deviceIds` and `tokens`: as many as can be validated and stored while the caller waits. */
const MAX_AUDIENCE = 100_000;
/** The payload limit of every provider: https://firebase.google.com/docs/cloud-messaging, RFC 8030 section 7.2, APNs. */
const MAX_PAYLOAD_BYTES = 4096;
const MAX_URL_LENGTH = 2048;
const MAX_NAME_LENGTH = 200;
const MAX_INTEGER = 2 ** 31 - 1;

/** The content of a notification with all defaults filled, as passed to transports. */
export interface PushContent {
  title?: string;
  /** iOS only. */
  subtitle?: string;
  body?: string;
  image?: string;
  /** Browsers only. */
  icon?: string;
  url?: string;
  /** The number on the app's icon; 0 clears it on iOS. */
  badge?: number;
  sound: string | false;
  /** Android only. */
  channel?: string;
  /** iOS only. */
  category?: string;
  group?: string;
  /** A newer notification with the same id replaces the older one. */
  collapseId?: string;
  priority: 'high' | 'normal';
  /** Seconds for which the provider keeps the notification for an offline device. */
  ttl?: number;
  /** Nothing is displayed, and the app receives `data`. */
  silent?: boolean;
  /** The data for the app, including `url`. */
  data?: Record<string, unknown>;
}

/** The recipients of a message. No list contains duplicates. */
export interface Audience {
  userIds: readonly string[];
  deviceIds: readonly string[];
  tokens: readonly string[];
  /** The platform of the raw tokens. */
  platform: DevicePlatform;
}

/** A validated push message: recipients and content. */
export interface PushMessage {
  audience: Audience;
  content: PushContent;
  /** `to` and `deviceIds` as passed by the caller. */
  given: { to?: string | string[]; deviceIds?: string[] };
}

const idSchema = z.string({ error: 'Must be an id' }).refine(isId, { error: 'Must be an id' });
const audienceListSchema = (item: z.ZodType<string, string>, error: string) =>
  boundedArraySchema(item, { max: MAX_AUDIENCE, tooMany: `Must be at most ${MAX_AUDIENCE} entries`, error });
const userIds = audienceListSchema(idSchema, 'Must be a user id or an array of user ids');
const nameSchema = () =>
  boundedTextSchema(MAX_NAME_LENGTH).refine((text) => text !== '', { error: 'Must not be empty' });
const httpsUrlSchema = () =>
  boundedTextSchema(MAX_URL_LENGTH).refine((text) => checkUrl(text, { allowPrivate: true, requireHttps: true }).ok, {
    error: 'Must be an https URL',
  });
const nonNegativeIntegerSchema = () => {
  const error = 'Must be a whole number, 0 or more';
  return z
    .number({ error })
    .int({ error })
    .min(0, { error })
    .max(MAX_INTEGER, { error: `Must be at most ${MAX_INTEGER}` });
};

/** The schema of each field of a push message; `parsePushMessage` also checks rules that involve several fields. */
export const messageShape = z.strictObject(
  {
    // Not a union, because the error of a union would not say which id in the list is invalid.
    to: z
      .unknown()
      .meta({ anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' }, maxItems: MAX_AUDIENCE }] })
      .transform((to, context): string | string[] => {
        const parsed = (typeof to === 'string' ? idSchema : userIds).safeParse(to);
        if (parsed.success) return parsed.data;
        context.issues.push(...(parsed.error.issues as z.core.$ZodRawIssue[]));
        return z.NEVER;
      })
      .optional(),
    deviceIds: audienceListSchema(idSchema, 'Must be an array of device ids').optional(),
    tokens: audienceListSchema(
      boundedTextSchema(MAX_TOKEN_LENGTH)
        .refine((token) => token !== '', { error: 'Must not be empty' })
        .refine((token) => !token.startsWith(SIMULATED_PREFIX), {
          error: `Must not start with ${SIMULATED_PREFIX}, which is for simulated devices: use deviceIds or to instead`,
        }),
      'Must be an array of tokens',
    ).optional(),
    platform: z.enum(PLATFORMS, { error: `Must be one of: ${PLATFORMS.join(', ')}` }).default('android'),
    title: boundedTextSchema(250).optional(),
    subtitle: boundedTextSchema(250).optional(),
    body: boundedTextSchema(2000).optional(),
    image: httpsUrlSchema().optional(),
    icon: httpsUrlSchema().optional(),
    url: boundedTextSchema(MAX_URL_LENGTH)
      .refine((text) => text !== '', { error: 'Must not be empty' })
      .optional(),
    badge: nonNegativeIntegerSchema().optional(),
    sound: z.union([z.literal(false), nameSchema()], { error: 'Must be the name of a sound, or false' }).optional(),
    channel: nameSchema().optional(),
    category: nameSchema().optional(),
    group: nameSchema().optional(),
    collapseId: boundedTextSchema(64)
      .refine((text) => text !== '', { error: 'Must not be empty' })
      .optional(),
    priority: z.enum(['high', 'normal'], { error: 'Must be one of: high, normal' }).default('high'),
    ttl: nonNegativeIntegerSchema().optional(),
    silent: z.boolean({ error: 'Must be true or false' }).optional(),
    data: z
      .unknown()
      .superRefine((data, context) => {
        const message = data === undefined ? undefined : notificationDataError(data, MAX_PAYLOAD_BYTES);
        if (message !== undefined) context.addIssue({ code: 'custom', message });
      })
      .optional(),
  },
  { error: (issue) => (issue.code === 'invalid_type' ? 'Must be an object' : undefined) },
);

type MessageFields = z.output<typeof messageShape>;

/**
 * Converts the issues of a failed parse to error details by field.
 *
 * @param root the key of issues that concern the value as a whole
 */
export function toErrorDetails(error: z.ZodError, root: string): ErrorDetails {
  const details = new Map<string, string>();
  const add = (path: PropertyKey[], message: string) => {
    const key = path.length === 0 ? root : path.map(String).join('.');
    if (!details.has(key)) details.set(key, message);
  };
  for (const issue of error.issues.slice(0, MAX_DETAILS)) {
    if (issue.code === 'unrecognized_keys') for (const key of issue.keys) add([...issue.path, key], 'Unknown field');
    else add(issue.path, issue.message);
  }
  return Object.fromEntries(details);
}

/** Returns the bytes of the texts and data, which count on every platform. If they exceed the limit, no device can receive the message. */
function countPayloadBytes({ title = '', subtitle = '', body = '', data }: PushContent): number {
  return Buffer.byteLength(title + subtitle + body) + Buffer.byteLength(data === undefined ? '' : JSON.stringify(data));
}

/** Returns the errors of rules that involve more than one field, by field name. */
function findCrossFieldErrors(fields: MessageFields, content: PushContent, rule: TokenRule): ErrorDetails {
  const details: ErrorDetails = {};
  const { to, deviceIds, tokens, platform } = fields;
  if (to === undefined && deviceIds === undefined && tokens === undefined) {
    details.to = 'Is required, unless deviceIds or tokens are given';
  }
  let count = 0;
  for (const [i, token] of (tokens ?? []).entries()) {
    const error = tokenError(platform, token, rule);
    if (error === undefined) continue;
    details[`tokens.${i}`] = error;
    if (++count === MAX_DETAILS) break;
  }
  if (content.silent && fields.data === undefined) details.data = 'Is required for a silent message';
  if (!content.silent && content.title === undefined && content.body === undefined) {
    details.title = 'Is required, unless the message has a body, or is silent and has data';
  }
  const bytes = countPayloadBytes(content);
  if (Object.keys(details).length === 0 && bytes > MAX_PAYLOAD_BYTES) {
    const field = content.data === undefined ? 'body' : 'data';
    details[field] = `Texts and data have ${bytes} bytes together; providers accept at most ${MAX_PAYLOAD_BYTES}`;
  }
  return details;
}

/** Returns the content of a valid message: without recipients and empty texts, and with a default sound. */
function toPushContent(fields: MessageFields): PushContent {
  const { to: _to, deviceIds: _ids, tokens: _tokens, platform: _platform, ...given } = fields;
  // An empty text does not satisfy the rule that a message needs a title or a body.
  const emptyTexts = (['title', 'subtitle', 'body'] as const).filter((text) => given[text] === '');
  const content = { ...given, sound: given.silent ? false : (given.sound ?? 'default') } as PushContent;
  for (const text of emptyTexts) delete content[text];
  // Copied through JSON: getters and toJSON methods of the caller could otherwise change the data after validation.
  if (given.data !== undefined) content.data = JSON.parse(JSON.stringify(given.data));
  if (given.url !== undefined) content.data = { ...content.data, url: given.url };
  return content;
}

/**
 * Validates a push message and fills its defaults. A message needs recipients, and either a title or body or `silent` with `data`.
 * Lists have at most 100,000 entries. A message that exceeds the payload limit of every provider is refused.
 *
 * @param rule decides which raw tokens are accepted
 * @throws ApiError VALIDATION_ERROR with a message per field
 */
export function parsePushMessage(input: unknown, rule: TokenRule): PushMessage {
  const parsed = messageShape.safeParse(input);
  if (!parsed.success) throw validationError(toErrorDetails(parsed.error, 'message'));
  const fields = parsed.data;
  const content = toPushContent(fields);
  const details = findCrossFieldErrors(fields, content, rule);
  if (Object.keys(details).length > 0) throw validationError(details);
  const { to, deviceIds, tokens = [], platform } = fields;
  const removeDuplicates = (entries: readonly string[] = []) => [...new Set(entries)];
  return {
    audience: {
      userIds: removeDuplicates(typeof to === 'string' ? [to] : to),
      deviceIds: removeDuplicates(deviceIds),
      tokens: removeDuplicates(tokens),
      platform,
    },
    content,
    given: { ...(to === undefined ? {} : { to }), ...(deviceIds === undefined ? {} : { deviceIds }) },
  };
}
