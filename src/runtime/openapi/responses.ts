import type { Route } from '../../declare/route.ts';
import { recordShapes } from '../../declare/route.ts';
import { ERROR_CODES, type ErrorCode } from '../../platform/helpers/errors.ts';
import { isBodiless } from '../../platform/http/response.ts';
import { hasEntityTag } from '../http/endpoint/route-traits.ts';
import { canReturnNotModified } from './parameters.ts';
import type { Components, Json } from './schema.ts';
import { shapeSchema } from './shape.ts';

const REQUEST_ID = {
  description: 'The id of this request in the log: the one that the client sent, or a new one.',
  schema: { type: 'string' },
};
const ENTITY_TAG = {
  description:
    'The version of this response. Send it back as `If-None-Match` to revalidate, or as `If-Match` with a change.',
  schema: { type: 'string' },
};
const REPLAYED = {
  description: '`true`: this is the stored response to an earlier request.',
  schema: { const: 'true' },
};
const RETRY_AFTER = { description: 'Seconds to wait before the next attempt.', schema: { type: 'integer' } };
const LIMITS = {
  'RateLimit-Limit': { description: 'Requests allowed in a window.', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'Requests left in this window.', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until the window ends.', schema: { type: 'integer' } },
};

const DEPRECATION = {
  Deprecation: {
    description:
      'Set if the route, or a field that the request uses, is deprecated: `@` and the Unix time of the (earliest) deprecation, RFC 9745.',
    schema: { type: 'string', pattern: '^@-?\\d+$' },
  },
  Sunset: {
    description: 'The date after which the deprecated route or field may be removed, if one is planned, RFC 8594.',
    schema: { type: 'string' },
  },
  Link: {
    description:
      'Pages about the deprecation (`rel="deprecation"`, `rel="sunset"`), and the replacement (`rel="successor-version"`), if declared.',
    schema: { type: 'string' },
  },
};

function addHeaderReference(name: string, header: Json, components: Components): Json {
  return { [name]: components.addPart('headers', name.replaceAll('-', ''), header) };
}

/** Creates the headers that every response with this status has. */
function createResponseHeaders(status: number, components: Components): Json {
  const isTemporary = status === 202 || status === 429 || status === 503;
  return {
    ...addHeaderReference('X-Request-Id', REQUEST_ID, components),
    ...(isTemporary ? addHeaderReference('Retry-After', RETRY_AFTER, components) : {}),
  };
}

/** Creates the headers that show the remaining requests of a rate limit. */
function createRateLimitHeaders(components: Components): Json {
  return Object.assign(
    {},
    ...Object.entries(LIMITS).map(([name, header]) => addHeaderReference(name, header, components)),
  );
}

/** Creates the headers that announce a deprecated route, or deprecated fields that a request uses. */
export function createDeprecationHeaders(components: Components): Json {
  return Object.assign(
    {},
    ...Object.entries(DEPRECATION).map(([name, header]) => addHeaderReference(name, header, components)),
  );
}

/** The header of a response that has an entity tag. */
function createEntityTagHeader(components: Components): Json {
  return addHeaderReference('ETag', ENTITY_TAG, components);
}

/** The header that marks a repeated response. */
function createReplayedHeader(components: Components): Json {
  return addHeaderReference('Idempotency-Replayed', REPLAYED, components);
}

const LIST_META = {
  type: 'object',
  description: 'Describes the page. `total`, `page` and `pages` are absent with `after` and without a count.',
  properties: {
    total: { type: 'integer', description: 'The number of records on all pages.' },
    totalCapped: { const: true, description: 'More than `total` records may match, because counting stopped.' },
    page: { type: 'integer' },
    limit: { type: 'integer', description: 'The maximum number of records on a page.' },
    pages: { type: 'integer' },
    next: {
      type: ['string', 'null'],
      description: 'The value of `after` for the next page; absent or null on the last page.',
    },
    truncated: {
      const: true,
      description:
        'The page holds fewer records than `limit` because more would make the response too large: continue with `next`.',
    },
  },
  required: ['limit'],
};

const AGGREGATE_META = {
  type: 'object',
  properties: {
    groups: { type: 'integer', description: 'The number of groups that exist.' },
    truncated: { type: 'boolean', description: 'Whether more groups exist than `data` contains.' },
  },
  required: ['groups', 'truncated'],
};

/** The schema of `meta`; undefined for a response without it. */
function metaSchema(route: Route, components: Components): Json | undefined {
  if (route.aggregates) return components.addPart('schemas', 'AggregateMeta', AGGREGATE_META);
  return route.crud === 'list' || route.paged ? components.addPart('schemas', 'ListMeta', LIST_META) : undefined;
}

function envelopeSchema(route: Route, name: string, components: Components): Json {
  const data = route.output === undefined ? {} : shapeSchema(route.output, 'output', name, components);
  const meta = metaSchema(route, components);
  const properties = { data, ...(meta === undefined ? {} : { meta }) };
  return { type: 'object', properties, required: Object.keys(properties) };
}

/** Whether the response to a write contains a record, and therefore its entity tag. */
function returnsRecord(route: Route): boolean {
  return hasEntityTag(route) && route.output !== undefined && recordShapes.has(route.output);
}

/** Creates the successful responses of a route by status. Without `output` a handler may return anything, or nothing. */
export function createSuccessResponses(
  route: Route,
  name: string,
  { limited, announced, components }: ResponseContext,
): Json {
  const { status = 200, output } = route;
  const shared = {
    ...createResponseHeaders(200, components),
    ...(limited ? createRateLimitHeaders(components) : {}),
    ...announced,
    ...(route.idempotent ? createReplayedHeader(components) : {}),
  };
  if (route.eventStream) {
    const content = { 'text/event-stream': { schema: { type: 'string' } } };
    return { [status]: { description: 'A stream of server-sent events that stays open.', headers: shared, content } };
  }
  const tagged =
    canReturnNotModified(route) || returnsRecord(route) ? { ...shared, ...createEntityTagHeader(components) } : shared;
  const full = {
    description: status === 201 ? 'Created.' : 'OK.',
    headers: tagged,
    content:
      route.file === undefined
        ? { 'application/json': { schema: envelopeSchema(route, name, components) } }
        : { [route.file]: {} },
  };
  const empty = { description: 'Done. The response has no body.', headers: shared };
  if (isBodiless(status)) return { [status]: empty };
  return {
    [status]: full,
    ...(route.pending
      ? {
          202: {
            ...full,
            description: 'The result is not ready yet. Send the request again after `Retry-After` seconds.',
            headers: { ...shared, ...createResponseHeaders(202, components) },
          },
        }
      : {}),
    ...(output === undefined && route.file === undefined ? { 204: empty } : {}),
    ...(canReturnNotModified(route)
      ? { 304: { description: 'The response has not changed since the one with this entity tag.', headers: tagged } }
      : {}),
  };
}

const ALL_CODES = Object.keys(ERROR_CODES) as ErrorCode[];

function errorSchema(codes: readonly ErrorCode[]): Json {
  const details =
    'The error messages by field, or by path inside objects and arrays (`address.city`, `tags.2`). At most 100.';
  const error = {
    type: 'object',
    properties: {
      code: { type: 'string', enum: codes },
      message: { type: 'string', description: 'A description of the error, for people.' },
      requestId: { type: 'string', description: 'The `X-Request-Id` of this response.' },
      details: { type: 'object', additionalProperties: { type: 'string' }, description: details },
    },
    required: ['code', 'message', 'requestId'],
  };
  return { type: 'object', properties: { error }, required: ['error'] };
}

/** Converts an error code to a component name: `NOT_FOUND` → `NotFound`. */
function componentNameOf(code: ErrorCode): string {
  return code.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

interface ResponseContext {
  /** Whether a rate limit applies to the route: then every response has the headers of the limit. */
  limited: boolean;
  /** The headers that announce what is deprecated; empty if requests of the route cannot use anything deprecated. */
  announced: Json;
  components: Components;
}

function createErrorResponse(
  description: string,
  statuses: readonly number[],
  codes: readonly ErrorCode[],
  { limited, announced, components }: ResponseContext,
): Json {
  const headersByStatus = statuses.map((status) => createResponseHeaders(status, components));
  const headers = Object.assign({}, ...headersByStatus, limited ? createRateLimitHeaders(components) : {}, announced);
  return { description, headers, content: { 'application/json': { schema: errorSchema(codes) } } };
}

/**
 * Creates the error responses of a route by status, each with its possible codes.
 *
 * @param mayReturnAnyError whether the route runs code whose errors are not declared: then any 4xx status is possible
 */
export function createErrorResponses(
  codes: ReadonlySet<ErrorCode>,
  mayReturnAnyError: boolean,
  context: ResponseContext,
): Json {
  const { components } = context;
  const inOrder = ALL_CODES.filter((code) => codes.has(code));
  const byStatus = Map.groupBy(inOrder, (code) => ERROR_CODES[code].status);
  const responses = [...byStatus].map(([status, own]) => {
    const text = own.map((code) => `\`${code}\`: ${ERROR_CODES[code].message}.`).join(' ');
    const part = createErrorResponse(text, [status], own, context);
    return [String(status), components.addPart('responses', own.map(componentNameOf).join('Or'), part)] as const;
  });
  if (!mayReturnAnyError) return Object.fromEntries(responses);
  const clients = ALL_CODES.filter((code) => ERROR_CODES[code].status < 500);
  const statuses = clients.map((code) => ERROR_CODES[code].status);
  const any = createErrorResponse('Any client error that the code of this route returns.', statuses, clients, context);
  return { ...Object.fromEntries(responses), '4XX': components.addPart('responses', 'AnyClientError', any) };
}
