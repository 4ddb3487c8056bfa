import type { Request } from 'express';
import { canonicalJson } from '../../../platform/canonical-json.ts';
import { ApiError } from '../../../platform/errors.ts';
import { hasBody } from '../../../platform/http/json-body.ts';

/** Whether JSON holds all of a value: of a Map or URLSearchParams it would hold nothing. */
function isJson(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || 'toJSON' in value) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/**
 * The body of a route that leaves it to its middleware, as that has left it in `req.body`. Files stand elsewhere, wherever the
 * middleware puts them.
 */
function parsedElsewhere(req: Request): unknown {
  const parsed: unknown = req.body;
  const comparable = parsed !== undefined && isJson(parsed) && !/^multipart\//i.test(req.headers['content-type'] ?? '');
  if (!comparable && hasBody(req)) {
    throw new ApiError('BAD_REQUEST', 'This body cannot be compared with another: send it without Idempotency-Key');
  }
  return Buffer.isBuffer(parsed) ? { base64: parsed.toString('base64') } : parsed;
}

/**
 * Returns one text for the query and the body of a request: requests that ask for the same have the same text.
 *
 * @param body the parsed body; undefined if the route has not read it, or if there is none
 * @throws ApiError BAD_REQUEST when there is a body that nothing has parsed
 */
export function canonicalRequest(req: Request, body: unknown): string {
  // Through JSON, because middleware may have left dates and the like.
  const sent = body === undefined ? JSON.parse(JSON.stringify(parsedElsewhere(req)) ?? 'null') : body;
  return canonicalJson([req.query, sent]);
}
