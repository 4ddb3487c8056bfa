import type { IncomingMessage } from 'node:http';
import { perRequest } from '../../platform/http/per-request.ts';

const reserved = perRequest<string>('reserved id');

/** Says which id the record gets that a request creates: it distinguishes a repeated request from a new one. */
export function reserveId(req: IncomingMessage, id: string): void {
  reserved.set(req, id);
}

/** The id that the record of this request must get; undefined for any new one. */
export function reservedIdOf(req: IncomingMessage): string | undefined {
  return reserved.get(req);
}
