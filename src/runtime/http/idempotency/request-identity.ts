import { hash } from 'node:crypto';
import type { Request } from 'express';
import { ORGANISATION_CHOICE, READ_LIMIT } from '../../../declare/actor.ts';
import type { Viewer } from '../../../declare/policy.ts';
import type { Route } from '../../../declare/route.ts';
import { ApiError } from '../../../platform/helpers/errors.ts';
import { toCanonicalJson } from '../../../platform/helpers/json/canonical-json.ts';
import { addressOf, clientKeyOf } from '../../../platform/http/client-address.ts';
import { hasBody } from '../../../platform/http/json-body.ts';
import { getIdentity } from '../../../platform/http/request-context.ts';

const PLAIN_KEY = /^[\x21\x23-\x7e][\x21-\x7e]*$/;
// A string in the sense of RFC 9651 §3.3.3, as the draft requires.
const QUOTED_KEY = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const MAX_KEY_LENGTH = 255;

/**
 * Reads `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header). The value may be in double quotes; with and without quotes it is
 * the same key.
 *
 * @returns undefined if there is none
 * @throws ApiError BAD_REQUEST if it is malformed, empty, too long, or repeated
 */
export function readIdempotencyKey({ headers }: Request): string | undefined {
  const header = headers['idempotency-key'];
  if (header === undefined) return undefined;
  const text = String(header);
  const key = PLAIN_KEY.test(text) ? text : QUOTED_KEY.exec(text)?.[1]?.replace(/\\(.)/g, '$1');
  if (key === undefined || key === '' || key.length > MAX_KEY_LENGTH) {
    throw new ApiError(
      'BAD_REQUEST',
      `Idempotency-Key must be one key of 1 to ${MAX_KEY_LENGTH} visible ASCII characters`,
    );
  }
  return key;
}

/** Returns the id under which a key is stored. It differs by caller, route and path. */
export function computeKeyId(
  route: Pick<Route, 'method' | 'path'>,
  { req, user, key }: { req: Request; user: Viewer | undefined; key: string },
): string {
  const client = user === undefined ? `ip ${clientKeyOf(addressOf(req))}` : `user ${user.id}`;
  const parts: unknown[] = [client, route.method, route.path, req.params, key];
  // A key of one organisation must not replay a response of another.
  const choice = user?.[ORGANISATION_CHOICE];
  if (choice !== undefined) parts.push(choice.bound ?? null, choice.current ?? null);
  // An API key must not replay a response with related records that it may not read.
  if (user?.[READ_LIMIT] !== undefined) parts.push(`credential ${getIdentity(req)?.id}`);
  return hash('sha256', JSON.stringify(parts));
}

/** Whether JSON can represent all of a value: a Map or URLSearchParams would become an empty object. */
function isJsonCompatible(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || 'toJSON' in value) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/**
 * The body of a route that leaves parsing to its middleware, as stored in `req.body`. Uploaded files are not part of it, because each
 * middleware stores them elsewhere.
 */
function readMiddlewareBody(req: Request): unknown {
  const parsed: unknown = req.body;
  const comparable =
    parsed !== undefined && isJsonCompatible(parsed) && !/^multipart\//i.test(req.headers['content-type'] ?? '');
  if (!comparable && hasBody(req)) {
    throw new ApiError(
      'BAD_REQUEST',
      'The server cannot recognize a repetition of this kind of body. Send the request without Idempotency-Key',
    );
  }
  return Buffer.isBuffer(parsed) ? { base64: parsed.toString('base64') } : parsed;
}

/**
 * Returns a canonical text for the query and body of a request: equal requests have the same text.
 *
 * @param body the parsed body; undefined if the route has not read it, or if there is none
 * @throws ApiError BAD_REQUEST if the request has a body that has not been parsed
 */
export function canonicalizeRequest(req: Request, body: unknown): string {
  // Convert through JSON, because middleware may have left values such as dates.
  const sent = body === undefined ? JSON.parse(JSON.stringify(readMiddlewareBody(req)) ?? 'null') : body;
  return toCanonicalJson([req.query, sent]);
}
