'use client';
import { QueryClient, QueryClientContext, QueryClientProvider, type QueryKey } from '@tanstack/react-query';
import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useState,
} from 'react';
import type { AuthUser } from '../auth/session.ts';
import { getOrigin } from '../origin.ts';
import { parseKey } from './keys.ts';
import { PENDING, type SessionState, trackSession, userIdOf } from './session-state.ts';

/** The properties of `BelfryProvider`. */
export interface BelfryProviderProps {
  /** The client whose records the components below show. */
  client: { readonly url: string };
  /** The cache. Default: that of a `QueryClientProvider` above, or a new one. */
  queryClient?: QueryClient | undefined;
  /**
   * The session with which the server renders the page: the same value on the server and in the browser; null if nobody is signed in. Left
   * out: the server does not know the session, and pages are rendered without one.
   */
  session?: { readonly user: unknown; readonly expiresAt?: string | undefined } | null | undefined;
  children?: ReactNode;
}

/** What the hooks get from the provider. */
interface BelfryContext {
  readonly queryClient: QueryClient;
  /** The session on the server and during hydration. */
  readonly serverState: SessionState;
}

const Context = createContext<BelfryContext | undefined>(undefined);

/** Returns what the provider above a component provides. @throws Error without one */
export function useBelfry(): BelfryContext {
  const context = useContext(Context);
  if (context === undefined)
    throw new Error('The hooks of @belfry/client/react need a <BelfryProvider client={client}> above them');
  return context;
}

function createServerState(session: BelfryProviderProps['session']): SessionState {
  if (session === undefined) return PENDING;
  const { user, expiresAt } = session ?? {};
  return {
    session: user === undefined ? undefined : { user: user as AuthUser, expiresAt, token: undefined },
    isPending: false,
    error: undefined,
  };
}

/** Removes what the cache contains of other users. */
function removeOthers(queryClient: QueryClient, url: string, userId: string | null): void {
  const isOther = (key: QueryKey | undefined) => {
    const parsed = parseKey(key);
    return parsed !== undefined && parsed.url === url && parsed.userId !== userId;
  };
  queryClient.removeQueries({ predicate: ({ queryKey }) => isOther(queryKey) });
  const mutations = queryClient.getMutationCache();
  for (const mutation of mutations.getAll())
    if (mutation.state.status !== 'pending' && isOther(mutation.options.mutationKey)) mutations.remove(mutation);
}

/**
 * Provides the hooks below it with a client and a cache. When the user changes, it removes the records of the former user from the cache.
 *
 * @example <BelfryProvider client={client}><App /></BelfryProvider>
 */
export function BelfryProvider({ client, queryClient, session, children }: BelfryProviderProps): ReactElement {
  const outer = useContext(QueryClientContext);
  const [own] = useState(() => new QueryClient());
  const cache = queryClient ?? outer ?? own;
  const [serverState] = useState(() => createServerState(session));
  const context = useMemo(() => ({ queryClient: cache, serverState }), [cache, serverState]);

  const origin = getOrigin(client);
  useEffect(() => {
    const tracker = trackSession(origin);
    let known: string | null | undefined;
    const check = () => {
      const state = tracker.current();
      const userId = userIdOf(state);
      if (state.isPending || userId === known) return;
      known = userId;
      removeOthers(cache, origin.url, userId);
    };
    check();
    return tracker.subscribe(check);
  }, [origin, cache]);

  return createElement(
    Context.Provider,
    { value: context },
    createElement(QueryClientProvider, { client: cache }, children),
  );
}
