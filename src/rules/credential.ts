import type { Request } from 'express';
import type { Authenticator } from '../declare/authenticator.ts';
import type { Auth } from '../declare/route.ts';
import { createPerRequestStore } from '../platform/http/per-request.ts';

// `via` alone does not identify the authenticator: an extension may have sessions or keys of its own.
const authenticators = new WeakMap<Auth, Authenticator>();

/** Records which authenticator signed a request in. */
export function setAuthenticator(auth: Auth, authenticator: Authenticator): void {
  authenticators.set(auth, authenticator);
}

const auths = createPerRequestStore<Auth>('auth');

/** Stores how a request is signed in, for code that gets only the request. */
export function setAuth(req: Request, auth: Auth): void {
  auths.set(req, auth);
}

/** Returns how a request is signed in; undefined if it is signed out. */
export function getAuth(req: Request): Auth | undefined {
  return auths.get(req);
}

/** Returns the authenticator that signed a request in. */
export function getAuthenticator(auth: Auth | undefined): Authenticator | undefined {
  return auth && authenticators.get(auth);
}

/** Returns the `watch` of the authenticator that signed a request in; undefined if it has none for this kind of credential. */
export function getCredentialWatch(auth: Auth | undefined): Authenticator['watch'] {
  const watch = getAuthenticator(auth)?.watch;
  return watch?.via === auth?.via ? watch : undefined;
}
