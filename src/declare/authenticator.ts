import type { Request } from 'express';
import type { Viewer } from './actor.ts';
import type { Auth, Route } from './route.ts';

/** What the OpenAPI document says of a way to sign in. */
export interface SignInScheme {
  /** In camelCase: `session`. */
  name: string;
  description: string;
  /** What its tokens look like, for people. */
  bearerFormat: string;
  /**
   * The scopes of which a token needs one on a route; empty: the route refuses the token. Left out: a session needs none, and any other
   * credential needs the scope of the route, as API keys do. Routes below `/auth` accept only sessions, whatever this returns.
   */
  scopesOf?(route: Route): readonly string[];
}

/** A way to sign in by the `Authorization` header. */
export interface Authenticator {
  scheme?: SignInScheme;
  /** Whether a token is of this kind, by its form alone. */
  recognizes(token: string): boolean;
  /** @throws ApiError UNAUTHORIZED when the token is not valid */
  authenticate(token: string, req: Request): Promise<{ user: Viewer; auth: Auth }>;
  /** For answers that stay open. Left out: they stay until their user is gone. */
  watch?: {
    /** As its `auth.via`. */
    via: Auth['via'];
    /** Those of some sessions or keys, by `auth.id`, that would not sign in any longer. Whether their user would is not asked. */
    ended(ids: readonly string[]): Promise<string[]>;
    /** When a credential expires, ISO 8601; undefined if it never expires or is unknown. Left out: credentials never expire. */
    expiresAt?(id: string): Promise<string | undefined>;
  };
}

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
