'use client';
import type { AuthUser, Session } from '../client/auth/session.ts';
import { originOf } from '../client/origin.ts';
import { useSessionState } from './use-client-state.ts';

/** What `useSession` returns. */
export interface SessionResult<User> {
  /** The signed-in user; undefined if nobody is signed in, or while `isPending`. */
  user: User | undefined;
  session: Session<User> | undefined;
  /** Whether it is not known yet if a user is signed in. */
  isPending: boolean;
  /** Why the session could not be read; undefined if it could. It is tried again. */
  error: unknown;
}

/** A client with sign-in, as far as the types of its user matter. */
interface ClientWithSession<User> {
  readonly url: string;
  readonly auth: { readonly session: Session<User> | undefined };
}

/**
 * Returns the session of a client. Renders again after a sign-in, a sign-out or a change of the user, also in another tab.
 *
 * @example const { user, isPending } = useSession(client)
 */
export function useSession<User extends AuthUser = AuthUser>(client: ClientWithSession<User>): SessionResult<User> {
  const { session, isPending, error } = useSessionState(originOf(client));
  return { user: session?.user as User | undefined, session: session as Session<User> | undefined, isPending, error };
}
