import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { ApiError } from '../errors.ts';
import { type EntityTag, entityTag, malformedIfMatch, readEntityTags, versionIn } from './entity-tag.ts';
import { setAnswerBytes } from './pending-answers.ts';

/** A value, and what else its answer says. */
class Told {
  readonly data: unknown;
  readonly meta: object | undefined;
  readonly version: string | undefined;

  constructor(data: unknown, meta: object | undefined, version: string | undefined) {
    this.data = data;
    this.meta = meta;
    this.version = version;
  }
}

/** An answer `{ data, meta }`. */
export function withMeta(data: unknown, meta: object): unknown {
  return new Told(data, meta, undefined);
}

/** An answer `{ data }` whose entity tag names the version of the record in it. */
export function withVersion(data: unknown, version: string | undefined): unknown {
  return version === undefined ? data : new Told(data, undefined, version);
}

/** The same answer with its data replaced. */
export async function withData(value: unknown, change: (data: unknown) => Promise<unknown>): Promise<unknown> {
  if (!(value instanceof Told)) return change(value);
  return new Told(await change(value.data), value.meta, value.version);
}

/** A success as it goes out. */
export interface Answer {
  status: number;
  /** JSON; undefined for an answer without a body. */
  text: string | undefined;
  /** Of the record in it. */
  version: string | undefined;
}

/** Whether an answer with this status has no body whatever is to be said (RFC 9110 §15.3.5, §15.3.6, §15.4.5). */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

/** The answer of a value: 204 for none, else `{ data }` (and `meta`), where the status has room for it. */
export function answerOf(status: number, value: unknown): Answer {
  if (isBodiless(status)) return { status, text: undefined, version: undefined };
  if (value === undefined) return { status: 204, text: undefined, version: undefined };
  const { data, meta, version } = value instanceof Told ? value : new Told(value, undefined, undefined);
  return { status, text: JSON.stringify({ data, meta }), version };
}

/** Sends JSON in one write. */
function sendBytes(res: ServerResponse, status: number, bytes: Buffer): void {
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', bytes.length);
  res.end(res.req.method === 'HEAD' ? undefined : bytes);
}

/** Sends a value as JSON, without an envelope. What nothing else was said of, no cache may keep. */
export function sendJson(res: ServerResponse, status: number, body: unknown): void {
  if (!res.hasHeader('Cache-Control')) res.setHeader('Cache-Control', 'private, no-store');
  sendBytes(res, status, Buffer.from(JSON.stringify(body)));
}

/**
 * Evaluates what a reader has already, in the order of RFC 9110 §13.2.2. Gives whether they have this version.
 *
 * @throws ApiError BAD_REQUEST or PRECONDITION_FAILED
 */
function isKnown(headers: IncomingHttpHeaders, tag: string): boolean {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers;
  if (match !== undefined) {
    const version = versionIn(tag);
    const same = ({ weak, opaque }: EntityTag) =>
      !weak && (opaque === tag || (version !== undefined && versionIn(opaque) === version));
    const tags = readEntityTags(match);
    if (tags === undefined) throw malformedIfMatch();
    if (tags !== '*' && !tags.some(same)) throw new ApiError('PRECONDITION_FAILED');
  }
  if (noneMatch === undefined) return false;
  const tags = readEntityTags(noneMatch);
  return tags === '*' || (tags?.some(({ opaque }) => opaque === tag) ?? false);
}

/**
 * Sends a success. With a viewer, answers to reads, and others that hold a record, carry an entity tag, which no two viewers
 * share; a reader who has the same already gets 304. PUT gives none: it would say that what was sent is stored byte for byte
 * (RFC 9110 §9.3.4).
 *
 * @param viewer the id of who asks, empty for who is signed out; undefined when nobody may keep the answer
 * @throws ApiError UNAVAILABLE when too many answers wait to be read; PRECONDITION_FAILED
 */
export function sendAnswer(res: ServerResponse, answer: Answer, viewer: string | undefined): void {
  const { status, text, version } = answer;
  if (text === undefined) {
    res.statusCode = status;
    res.end();
    return;
  }
  const { method, headers } = res.req;
  const reads = method === 'GET' || method === 'HEAD';
  setAnswerBytes(res.req, text.length);
  const told = res.getHeader('Cache-Control') as string | undefined;
  const tagged = viewer !== undefined && (reads || (version !== undefined && method !== 'PUT'));
  if (!tagged || told?.includes('no-store')) {
    if (told === undefined) res.setHeader('Cache-Control', 'private, no-store');
    sendBytes(res, status, Buffer.from(text));
    return;
  }
  const bytes = Buffer.from(text);
  const tag = entityTag(bytes, version, viewer);
  const vary = res.getHeader('Vary');
  res.setHeader('Vary', vary === undefined ? 'Authorization' : `${vary}, Authorization`);
  if (told === undefined) res.setHeader('Cache-Control', 'private, no-cache');
  res.setHeader('ETag', `"${tag}"`);
  if (reads && isKnown(headers, tag)) {
    res.statusCode = 304;
    res.end();
  } else sendBytes(res, status, bytes);
}

/** Sends the error envelope. */
export function sendError(res: ServerResponse, error: ApiError, requestId: string): void {
  const { code, message, details } = error;
  const retryAfter = error.retryAfter ?? (error.status === 503 ? 5 : undefined);
  if (retryAfter !== undefined) res.setHeader('Retry-After', retryAfter);
  res.setHeader('Cache-Control', 'no-store');
  res.removeHeader('ETag');
  sendJson(res, error.status, { error: { code, message, requestId, ...(details === undefined ? {} : { details }) } });
}
