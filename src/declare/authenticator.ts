import type { Request } from 'express';
import type { Viewer } from './actor.ts';
import type { Auth, Route } from './route.ts';

/** How the OpenAPI document describes a way to sign in. */
export interface SignInScheme {
  /** In camelCase: `session`. */
  name: string;
  description: string;
  /** A description of the token format, for people. */
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
  /** Whether a token is of this kind, judged by its format alone. */
  recognizes(token: string): boolean;
  /** @throws ApiError UNAUTHORIZED if the token is not valid */
  authenticate(token: string, req: Request): Promise<{ user: Viewer; auth: Auth }>;
  /** For streaming responses. Left out: they stay open until their user is deleted. */
  watch?: {
    /** The same value as in `auth.via`. */
    via: Auth['via'];
    /** Returns those of the given sessions or keys (`auth.id`) that can no longer sign in. It does not check their users. */
    ended(ids: readonly string[]): Promise<string[]>;
    /** When a credential expires, ISO 8601; undefined if it never expires or is unknown. Left out: credentials never expire. */
    expiresAt?(id: string): Promise<string | undefined>;
  };
}

// `via` alone does not identify the authenticator: an extension may sign in by its own sessions or keys.
const authenticators = new WeakMap<Auth, Authenticator>();

/** Records which authenticator signed a request in. */
export function setAuthenticator(auth: Auth, authenticator: Authenticator): void {
  authenticators.set(auth, authenticator);
}

/** Returns the authenticator that signed a request in. */
export function authenticatorOf(auth: Auth | undefined): Authenticator | undefined {
  return auth && authenticators.get(auth);
}

/** Returns the check for ended sessions or keys; undefined if the authenticator has none. */
export function credentialWatchOf(auth: Auth | undefined): Authenticator['watch'] {
  const watch = authenticatorOf(auth)?.watch;
  return watch?.via === auth?.via ? watch : undefined;
}
