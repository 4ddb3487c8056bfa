import type { IncomingMessage } from 'node:http';
import { perRequest } from './per-request.ts';

/** How a request is signed in. `id`: of the session or key. */
interface Identity {
  via: 'session' | 'api-key';
  id: string;
  userId: string;
}

const identities = perRequest<Identity>('identity');

/** Notes who a request is signed in as, for its line in the log and for what it changes. */
export function setIdentity(req: IncomingMessage, identity: Identity | undefined): void {
  if (identity !== undefined) identities.set(req, identity);
}

/** How a request is signed in; undefined while it is not. */
export function identityOf(req: IncomingMessage): Identity | undefined {
  return identities.get(req);
}
