import type { Authenticator } from './host.ts';
import type { Auth } from './route.ts';

// An extension may sign in by sessions or keys of its own, so that `via` alone does not tell whose they are.
const authenticators = new WeakMap<Auth, Authenticator>();

/** Notes which authenticator has signed a request in. */
export function setAuthenticator(auth: Auth, authenticator: Authenticator): void {
  authenticators.set(auth, authenticator);
}

/** Returns the authenticator that has signed a request in. */
export function authenticatorOf(auth: Auth | undefined): Authenticator | undefined {
  return auth && authenticators.get(auth);
}

/** Returns what tells when a session or key ends; undefined: its authenticator cannot tell. */
export function watchOf(auth: Auth | undefined): Authenticator['watch'] {
  const watch = authenticatorOf(auth)?.watch;
  return watch?.via === auth?.via ? watch : undefined;
}
