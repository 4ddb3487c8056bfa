import type { Request } from 'express';
import { canonicalJson } from '../../../platform/canonical-json.ts';
import { ApiError } from '../../../platform/errors.ts';
import { hasBody } from '../../../platform/http/json-body.ts';

/** Whether JSON can represent all of a value: a Map or URLSearchParams would become an empty object. */
function isJson(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || 'toJSON' in value) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/**
 * The body of a route that leaves parsing to its middleware, as stored in `req.body`. Uploaded files are not part of it, because each
 * middleware stores them elsewhere.
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
 * Returns a canonical text for the query and body of a request: equal requests have the same text.
 *
 * @param body the parsed body; undefined if the route has not read it, or if there is none
 * @throws ApiError BAD_REQUEST if the request has a body that has not been parsed
 */
export function canonicalRequest(req: Request, body: unknown): string {
  // Convert through JSON, because middleware may have left values such as dates.
  const sent = body === undefined ? JSON.parse(JSON.stringify(parsedElsewhere(req)) ?? 'null') : body;
  return canonicalJson([req.query, sent]);
}
