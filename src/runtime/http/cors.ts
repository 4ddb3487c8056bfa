import cors from 'cors';
import type { RequestHandler } from 'express';

/** The origins of pages that a developer serves on this machine, at any port. */
const LOCAL_ORIGIN = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/;

/** The headers of uploads, which pages must be allowed to send. */
const UPLOAD_HEADERS = ['Content-Disposition', 'Tus-Resumable', 'Upload-Length', 'Upload-Metadata', 'Upload-Offset'];

/**
 * Creates the middleware that responds to preflights and names allowed origins.
 *
 * @param options `allowLocal`: whether origins on the same machine are allowed in addition to `origins`; `exposed`: the names of response
 *   headers that pages may read, besides the headers of every app
 */
export function createCors(
  origins: readonly string[],
  { allowLocal, exposed }: { allowLocal: boolean; exposed: readonly string[] },
): RequestHandler {
  const allowsAny = origins.includes('*');
  const allowed = [...origins, ...(allowLocal ? [LOCAL_ORIGIN] : [])];
  const isAllowed = (origin: string) =>
    allowed.some((rule) => (typeof rule === 'string' ? rule === origin : rule.test(origin)));
  const handle = cors({
    origin: allowsAny ? '*' : allowed,
    methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    allowedHeaders: [
      'Authorization',
      'Cache-Control',
      'Content-Type',
      'X-Request-Id',
      'Idempotency-Key',
      'If-Match',
      'If-None-Match',
      'Last-Event-ID',
      'X-Organisation',
      ...UPLOAD_HEADERS,
    ],
    exposedHeaders: [
      'X-Request-Id',
      'RateLimit-Limit',
      'RateLimit-Remaining',
      'RateLimit-Reset',
      'Retry-After',
      'ETag',
      'Idempotency-Replayed',
      'Location',
      'Upload-Offset',
      'Upload-Length',
      'Upload-Expires',
      'Upload-Metadata',
      'Tus-Resumable',
      'Tus-Version',
      'Tus-Extension',
      'Tus-Max-Size',
      ...exposed,
    ],
    maxAge: 600,
  });
  return (req, res, next) => {
    const { origin, 'access-control-request-method': requested } = req.headers;
    res.setHeader('Vary', 'Origin');
    // The package sends the exposed headers even to origins that are not listed, and treats every OPTIONS as a preflight. Other OPTIONS
    // requests get the methods of the path.
    if (
      origin === undefined ||
      !(allowsAny || isAllowed(origin)) ||
      (req.method === 'OPTIONS' && requested === undefined)
    )
      next();
    else handle(req, res, next);
  };
}
