import type { Request } from 'express';
import { ApiError } from '../../../platform/errors.ts';
import { hasBody } from '../../../platform/http/json-body.ts';

/** The order of an object's members says nothing (RFC 8259 §4). Called by JSON.stringify for every value. */
function inOrder(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The body of a route that leaves it to its middleware, as that has left it in `req.body`. Files stand elsewhere, wherever the
 * middleware puts them.
 */
function parsedElsewhere(req: Request): unknown {
  const parsed: unknown = req.body;
  const comparable = parsed !== undefined && !/^multipart\//i.test(req.headers['content-type'] ?? '');
  if (!comparable && hasBody(req)) {
    throw new ApiError('BAD_REQUEST', 'This body cannot be compared with another: send it without Idempotency-Key');
  }
  return Buffer.isBuffer(parsed) ? { base64: parsed.toString('base64') } : parsed;
}

/**
 * What was sent, as one text: two requests that ask for the same have the same.
 *
 * @param body what was read of the body; undefined where the route has not read it, or there was none
 * @throws ApiError BAD_REQUEST when there is a body that nobody has parsed
 */
export function canonicalRequest(req: Request, body: unknown): string {
  return JSON.stringify([req.query, body === undefined ? (parsedElsewhere(req) ?? null) : body], inOrder);
}
