import type { AuthUser, Session, SessionListener } from './auth/session.ts';
import type { TokenSource } from './request/request.ts';

/** The session of a client, as far as caches of its responses need it. */
export interface SessionOfOrigin extends Pick<TokenSource, 'getToken'> {
  readonly session: Session<AuthUser> | undefined;
  ready(): Promise<Session<AuthUser> | undefined>;
  subscribe(listener: SessionListener<AuthUser>): () => void;
}

/** Where the records of a client or resource come from. */
export interface Origin {
  /** The address of the app. */
  readonly url: string;
  /** Undefined for a client with a token of its own. */
  readonly auth: SessionOfOrigin | undefined;
}

/** A registered symbol, so that it is the same one if a bundler includes this module twice. */
const ORIGIN = Symbol.for('belfry.origin');

/** Attaches the origin to a client or resource. Returns the target. */
export function withOrigin<Target extends object>(target: Target, origin: Origin): Target {
  return Object.defineProperty(target, ORIGIN, { value: origin });
}

/**
 * Returns the origin of a client or resource.
 *
 * @throws TypeError for any other object
 */
export function getOrigin(target: object): Origin {
  const origin = (target as { [ORIGIN]?: Origin } | undefined)?.[ORIGIN];
  if (origin === undefined)
    throw new TypeError('Expected a client that createClient has created, or one of its resources');
  return origin;
}
