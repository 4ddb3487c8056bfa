import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { ApiError } from '../helpers/errors.ts';
import { createEntityTag, createIfMatchError, type EntityTag, parseEntityTags, versionOfTag } from './entity-tag.ts';
import { setResponseBytes } from './pending-responses.ts';

/** The result of a handler with the metadata of its response. */
class Envelope {
  readonly data: unknown;
  readonly meta: object | undefined;
  readonly version: string | undefined;

  constructor(data: unknown, meta: object | undefined, version: string | undefined) {
    this.data = data;
    this.meta = meta;
    this.version = version;
  }
}

/** Returns a handler result that is sent as `{ data, meta }`. */
export function withMeta(data: unknown, meta: object): unknown {
  return new Envelope(data, meta, undefined);
}

/** Returns a handler result that is sent as `{ data }`, with an ETag for the version of the record in `data`. */
export function withVersion(data: unknown, version: string | undefined): unknown {
  return version === undefined ? data : new Envelope(data, undefined, version);
}

/** Returns a handler result with its data replaced by the result of `change`; `meta` and version stay. */
export async function mapResponseData(value: unknown, change: (data: unknown) => Promise<unknown>): Promise<unknown> {
  if (!(value instanceof Envelope)) return change(value);
  return new Envelope(await change(value.data), value.meta, value.version);
}

/** A successful response, ready to send. */
export interface SuccessResponse {
  status: number;
  /** JSON; undefined for a response without a body. */
  text: string | undefined;
  /** The version of the record in the response. */
  version: string | undefined;
}

/** Whether a response with this status never has a body (RFC 9110 §15.3.5, §15.3.6, §15.4.5). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

/** Creates the response for a handler's result: 204 if it is undefined, else `{ data }` (and `meta`) if the status allows a body. */
export function createSuccessResponse(status: number, value: unknown): SuccessResponse {
  if (isBodiless(status)) return { status, text: undefined, version: undefined };
  if (value === undefined) return { status: 204, text: undefined, version: undefined };
  const { data, meta, version } = value instanceof Envelope ? value : new Envelope(value, undefined, undefined);
  return { status, text: JSON.stringify({ data, meta }), version };
}

const MAX_TEXT_LENGTH = 16 * 1024;

/**
 * Encodes a JSON text. A short ASCII text stays a string, because Node joins it with the head and sends both without a buffer, which takes
 * less time. Any other text must be bytes: Node would encode the head in UTF-8 too.
 */
function encodeText(text: string): string | Buffer {
  return text.length <= MAX_TEXT_LENGTH && Buffer.byteLength(text) === text.length ? text : Buffer.from(text);
}

/** Sends an encoded JSON text as a response, in one write. */
function sendEncodedJson(res: ServerResponse, status: number, body: string | Buffer): void {
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', body.length);
  if (res.req.method === 'HEAD') res.end();
  else res.end(body, 'latin1');
}

/** Creates the route handler of an operation, such as a sign-in, whose responses no cache may store. */
export const withoutCaching =
  <Context>(context: Context, operation: (context: Context, ctx: never) => unknown) =>
  (ctx: { res: ServerResponse }): unknown => {
    ctx.res.setHeader('Cache-Control', 'no-store');
    return operation(context, ctx as never);
  };

/** Sends a value as JSON, without an envelope. Caches must not store it, unless `Cache-Control` is set. */
export function sendJson(res: ServerResponse, status: number, body: unknown): void {
  if (!res.hasHeader('Cache-Control')) res.setHeader('Cache-Control', 'private, no-store');
  sendEncodedJson(res, status, encodeText(JSON.stringify(body)));
}

/**
 * Evaluates conditional headers, in the order of RFC 9110 §13.2.2. Returns whether the client already has the version
 * `tag`, so that the response is a 304.
 *
 * @throws ApiError BAD_REQUEST or PRECONDITION_FAILED
 */
function evaluateConditionalHeaders(headers: IncomingHttpHeaders, tag: string): boolean {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (match !== undefined) {
    const version = versionOfTag(tag);
    const isSameVersion = ({ weak, opaque }: EntityTag) =>
      !weak && (opaque === tag || (version !== undefined && versionOfTag(opaque) === version));
    const tags = parseEntityTags(match);
    if (tags === undefined) throw createIfMatchError();
    if (tags !== '*' && !tags.some(isSameVersion)) throw new ApiError('PRECONDITION_FAILED');
  }
  if (noneMatch === undefined) return false;
  const tags = parseEntityTags(noneMatch);
  return tags === '*' || (tags?.some(({ opaque }) => opaque === tag) ?? false);
}

/**
 * Sends a success response. If there is a viewer, responses to reads, and other responses with a record, get an entity tag, which no
 * two viewers share; a client that has the same version gets 304. Responses to PUT get none: a tag would mean that the body is stored
 * byte for byte (RFC 9110 §9.3.4).
 *
 * @param viewer the user's id, or empty if there is none; undefined if the response must not be cached
 * @throws ApiError UNAVAILABLE if too many responses are unread; PRECONDITION_FAILED
 */
export function sendSuccess(res: ServerResponse, response: SuccessResponse, viewer: string | undefined): void {
  const { status, text, version } = response;
  if (text === undefined) {
    res.statusCode = status;
    res.end();
    return;
  }
  const { method, headers } = res.req;
  const isRead = method === 'GET' || method === 'HEAD';
  setResponseBytes(res.req, text.length);
  const caching = res.getHeader('Cache-Control') as string | undefined;
  const tagged = viewer !== undefined && (isRead || (version !== undefined && method !== 'PUT'));
  if (!tagged || caching?.includes('no-store')) {
    if (caching === undefined) res.setHeader('Cache-Control', 'private, no-store');
    sendEncodedJson(res, status, encodeText(text));
    return;
  }
  const body = encodeText(text);
  const tag = createEntityTag(body, version, viewer);
  addVary(res, 'Authorization');
  if (caching === undefined) res.setHeader('Cache-Control', 'private, no-cache');
  res.setHeader('ETag', `"${tag}"`);
  if (isRead && evaluateConditionalHeaders(headers, tag)) {
    res.statusCode = 304;
    res.end();
  } else sendEncodedJson(res, status, body);
}

/** Adds a name to the header `Vary`. */
function addVary(res: ServerResponse, name: string): void {
  const vary = res.getHeader('Vary');
  res.setHeader('Vary', vary === undefined ? name : `${vary}, ${name}`);
}

/** Sends the error envelope. @param language the headers that describe the language of the error */
export function sendError(
  res: ServerResponse,
  error: ApiError,
  requestId: string,
  { contentLanguage, vary }: { contentLanguage?: string | undefined; vary?: string | undefined } = {},
): void {
  const { code, message, details } = error;
  const retryAfter = error.retryAfter ?? (error.status === 503 ? 5 : undefined);
  if (retryAfter !== undefined) res.setHeader('Retry-After', retryAfter);
  res.setHeader('Cache-Control', 'no-store');
  res.removeHeader('ETag');
  if (contentLanguage !== undefined) res.setHeader('Content-Language', contentLanguage);
  if (vary !== undefined) addVary(res, vary);
  sendJson(res, error.status, { error: { code, message, requestId, ...(details === undefined ? {} : { details }) } });
}
