import type { ServerResponse } from 'node:http';
import type { ApiError } from '../errors.ts';

/** A value whose envelope carries `meta` beside `data`. */
export class Paged {
  readonly data: unknown;
  readonly meta: object;

  constructor(data: unknown, meta: object) {
    this.data = data;
    this.meta = meta;
  }
}

/** An answer `{ data, meta }`. */
export function withMeta(data: unknown, meta: object): Paged {
  return new Paged(data, meta);
}

/** Sends JSON in one write. Answers are private to who asked: no cache may keep them. */
export function sendJson(res: ServerResponse, status: number, body: unknown): void {
  const bytes = Buffer.from(JSON.stringify(body));
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  if (!res.hasHeader('Cache-Control')) res.setHeader('Cache-Control', 'private, no-store');
  res.setHeader('Content-Length', bytes.length);
  res.end(res.req.method === 'HEAD' ? undefined : bytes);
}

/** Sends a success: 204 for no value, else `{ data }` (and `meta`). */
export function sendData(res: ServerResponse, status: number, value: unknown): void {
  if (value === undefined) {
    res.statusCode = 204;
    res.end();
  } else if (value instanceof Paged) sendJson(res, status, { data: value.data, meta: value.meta });
  else sendJson(res, status, { data: value });
}

/** Sends the error envelope. */
export function sendError(res: ServerResponse, error: ApiError, requestId: string): void {
  const { code, message, details } = error;
  const retryAfter = error.retryAfter ?? (error.status === 503 ? 5 : undefined);
  if (retryAfter !== undefined) res.setHeader('Retry-After', retryAfter);
  res.setHeader('Cache-Control', 'no-store');
  sendJson(res, error.status, { error: { code, message, requestId, ...(details === undefined ? {} : { details }) } });
}
