import type { IncomingMessage } from 'node:http';
import { perRequest } from './per-request.ts';

/** How a request is signed in. `id`: the id of the session or API key. */
interface Identity {
  via: 'session' | 'api-key';
  id: string;
  userId: string;
}

const identities = perRequest<Identity>('identity');

/** Stores the identity of a request, for its log line and for the changes it makes. */
export function setIdentity(req: IncomingMessage, identity: Identity | undefined): void {
  if (identity !== undefined) identities.set(req, identity);
}

/** The identity of a request; undefined if it is not signed in. */
export function identityOf(req: IncomingMessage): Identity | undefined {
  return identities.get(req);
}
