import type { Request } from 'express';
import type { Executor } from '../platform/data/postgres/queryable.ts';
import type { Viewer } from './actor.ts';
import type { Auth, Route } from './route.ts';

/** How the OpenAPI document describes a way to sign in. */
export interface SignInScheme {
  /** The name of the scheme in the OpenAPI document, in camelCase: `session`. */
  name: string;
  description: string;
  /** A description of the token format, for readers of the OpenAPI document. */
  bearerFormat: string;
  /**
   * The scopes that give a token access to a route; one of them is enough, and an empty list refuses the token. Left out: a session needs
   * no scope, and any other credential needs the scope of the route, as API keys do. Routes below `/auth` accept only sessions, whatever
   * this method returns.
   */
  scopesOf?(route: Route): readonly string[];
}

/** A condition on a recent sign-in. */
export interface SignInCondition {
  /** The sign-in is not older than this, ISO 8601. */
  since: string;
  /** Whether only the beginning of the session counts, not a later confirmation of the user's password. */
  beginOnly: boolean;
}

/** A way to sign in by the `Authorization` header. */
export interface Authenticator {
  /** Left out: the OpenAPI document does not describe this way to sign in. */
  scheme?: SignInScheme;
  /**
   * Whether a route accepts this kind of credential, for credentials that serve one feature only. No scope is needed then, and all other
   * routes refuse the credential, even routes that are open to everyone. Left out: the scopes decide.
   */
  accepts?(route: Pick<Route, 'method' | 'path'>): boolean;
  /** Whether a token is of this kind, judged by its format alone. */
  recognizes(token: string): boolean;
  /** @throws ApiError UNAUTHORIZED if the token is not valid */
  authenticate(token: string, req: Request): Promise<{ user: Viewer; auth: Auth }>;
  /**
   * Finds out, for open streaming responses, whether their credentials still exist. Left out: a stream stays open until its user is
   * deleted.
   */
  watch?: {
    /** The kind of credential that `ended` checks: the value of `auth.via`. */
    via: Auth['via'];
    /**
     * Returns the given sessions or keys (`auth.id`) that can no longer sign in. It does not check whether their users still exist.
     *
     * @param tx the caller's transaction. Read in it: it holds a lock that transactions on all other connections may be waiting for
     */
    ended(ids: readonly string[], tx?: Executor): Promise<string[]>;
    /**
     * The time when a session or key (`auth.id`) expires, ISO 8601; undefined if it never expires or is unknown. Left out: credentials
     * never expire.
     */
    expiresAt?(id: string): Promise<string | undefined>;
  };
  /**
   * Whether the user of a session (`auth.id`) has signed in within the last `minutes`. Left out: never, so credentials of this kind cannot
   * use routes with `recentSignIn`.
   *
   * @param after a further condition; left out: none
   */
  isSignInRecent?(id: string, minutes: number, after?: SignInCondition): Promise<boolean>;
}
