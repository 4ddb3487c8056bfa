import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { perRequest } from './per-request.ts';

const ids = perRequest<string>('id');
const PLAIN = /^[A-Za-z0-9._-]{1,128}$/;

/** Gives a request its id: the `X-Request-Id` it came with when that is short and plain, else a new one. */
export function assignRequestId(req: IncomingMessage): string {
  const given = req.headers['x-request-id'];
  const id = typeof given === 'string' && PLAIN.test(given) ? given : randomUUID();
  ids.set(req, id);
  return id;
}

/** The id that a request was given; undefined for a request that did not come through the app. */
export function requestIdOf(req: IncomingMessage): string | undefined {
  return ids.get(req);
}
