'use client';
import { hashKey } from '@tanstack/react-query';
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import type { AuthUser, Session } from '../auth/session.ts';
import { getOrigin, type Origin } from '../origin.ts';
import type { ListKey, RecordKey } from './keys.ts';
import { CONNECTING, getOrCreateLiveEntries, NOT_LIVE } from './live-entries.ts';
import type { LiveState } from './live-feeds.ts';
import { type ChangeView, getOrCreatePendingChanges, type PendingChange } from './pending-changes.ts';
import { useBelfry } from './provider.ts';
import type { AnyResource } from './resource.ts';
import { type SessionState, trackSession } from './session-state.ts';

/** Returns the session of a client or resource, and renders again when it changes. */
export function useSessionState(origin: Origin): SessionState {
  const { serverState } = useBelfry();
  const { subscribe, current } = trackSession(origin);
  return useSyncExternalStore(subscribe, current, () => (origin.auth === undefined ? current() : serverState));
}

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
  const { session, isPending, error } = useSessionState(getOrigin(client));
  return { user: session?.user as User | undefined, session: session as Session<User> | undefined, isPending, error };
}

/** The app, the user and the path of a resource. */
const RESOURCE_KEY_LENGTH = 4;
const NO_CHANGES: readonly PendingChange[] = [];

/** The pending changes of a resource and user, and how they are shown; undefined without changes. */
type Pending = { changes: readonly PendingChange[]; view: ChangeView } | undefined;

/** Returns the pending changes of a resource and user, and renders again when they change. */
export function usePendingChanges(resource: AnyResource, userId: string | null): Pending {
  const store = getOrCreatePendingChanges(getOrigin(resource));
  const all = useSyncExternalStore(store.subscribe, store.current, () => NO_CHANGES);
  const { path } = resource;
  return useMemo(() => {
    const changes = all.filter((one) => one.path === path && one.userId === userId);
    return changes.length > 0 ? { changes, view: store.view! } : undefined;
  }, [all, path, userId, store]);
}

/** Follows the changes of a query while the component is mounted. Also returns the state if only another component follows them. */
export function useLiveState(resource: AnyResource, key: ListKey | RecordKey, isWanted: boolean): LiveState {
  const { queryClient } = useBelfry();
  const entries = getOrCreateLiveEntries(queryClient);
  const hash = hashKey(key);
  // The hash stands for the key, which is a new object each time
  useEffect(() => (isWanted ? entries.use(resource, key) : undefined), [entries, resource, hash, isWanted]);
  const state = useSyncExternalStore(
    entries.subscribe,
    () => entries.get(hash)?.state ?? NOT_LIVE,
    () => NOT_LIVE,
  );
  return state.status === 'off' && isWanted ? CONNECTING : state;
}

/** Shows the data of the former key until that of the key is loaded, if both are of the same resource and user. */
export function keepFormerData<Data>(key: readonly unknown[]) {
  return (data: Data | undefined, former: { queryKey: readonly unknown[] } | undefined): Data | undefined =>
    key.slice(0, RESOURCE_KEY_LENGTH).every((part, i) => part === former?.queryKey[i]) ? data : undefined;
}
