import type { Request } from 'express';
import { ApiError } from '../../../platform/errors.ts';
import { hasBody } from '../../../platform/http/json-body.ts';

/**
 * A JSON value as text, with the fields of objects in a fixed order: their order says nothing (RFC 8259 §4). Written out, since
 * JSON.stringify with a replacer costs several times as much as parsing the body.
 */
function canonical(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return String(value);
  let text = '';
  if (Array.isArray(value)) {
    if (!value.some((item) => typeof item === 'object' && item !== null)) return JSON.stringify(value);
    for (const item of value) text += `${text === '' ? '' : ','}${canonical(item)}`;
    return `[${text}]`;
  }
  const names = Object.keys(value);
  if (names.length > 1) names.sort();
  for (const name of names) {
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${canonical((value as Record<string, unknown>)[name])}`;
  }
  return `{${text}}`;
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

/** A value of any middleware as JSON holds it: without functions, and with what toJSON() makes of dates and the like. */
function asJson(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value) ?? 'null');
}

/**
 * What was sent, as one text: two requests that ask for the same have the same.
 *
 * @param body what was read of the body; undefined where the route has not read it, or there was none
 * @throws ApiError BAD_REQUEST when there is a body that nobody has parsed
 */
export function canonicalRequest(req: Request, body: unknown): string {
  return canonical([req.query, body === undefined ? asJson(parsedElsewhere(req)) : body]);
}
