import type { AuthUser, Session } from '../auth/session.ts';
import type { Origin } from '../origin.ts';
import { createListeners } from '../realtime/listeners.ts';
import { ApiError } from '../request/errors.ts';

/** What is known of the session. */
export interface SessionState<User = AuthUser> {
  /** The session; undefined if nobody is signed in, or while `isPending`. */
  readonly session: Session<User> | undefined;
  /** Whether it is not known yet if a user is signed in, and which one. */
  readonly isPending: boolean;
  /** Why the session could not be read. It is tried again. */
  readonly error: unknown;
}

/** Follows the session of a client. */
export interface SessionTracker {
  /** The current state: the same object until something changes. */
  current(): SessionState;
  /** Calls the listener after each change, and reads the session if it is not known. Returns an unsubscribe function. */
  subscribe(listener: () => void): () => void;
}

/** The state on a server that was given no session, and in a page before hydration. */
export const PENDING: SessionState = { session: undefined, isPending: true, error: undefined };
const SIGNED_OUT: SessionState = { session: undefined, isPending: false, error: undefined };
const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 30_000;

const trackers = new WeakMap<Origin, SessionTracker>();

function createTracker({ auth }: Origin): SessionTracker {
  // With a token of its own, a client has no session that could change.
  if (auth === undefined) return { current: () => SIGNED_OUT, subscribe: () => () => undefined };
  const listeners = createListeners();
  let state = PENDING;
  let error: unknown;
  let failures = 0;
  let isReading = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let unsubscribe: (() => void) | undefined;

  function isUnknown(): boolean {
    const token = auth!.getToken();
    // The error of a storage is that of `ready`.
    if (token instanceof Promise) token.catch(() => undefined);
    // A token without a session: the user has not been read yet.
    return token !== undefined;
  }

  function current(): SessionState {
    const { session } = auth!;
    if (session === undefined) {
      if (!isUnknown()) return SIGNED_OUT;
      if (!state.isPending || state.error !== error) state = { session, isPending: true, error };
    } else if (state.session !== session) state = { session, isPending: false, error: undefined };
    return state;
  }

  async function read(): Promise<void> {
    if (isReading || listeners.size === 0 || !current().isPending) return;
    clearTimeout(timer);
    isReading = true;
    try {
      await auth!.ready();
      error = undefined;
    } catch (cause) {
      error = cause;
    }
    isReading = false;
    failures = current().isPending ? failures + 1 : 0;
    if (failures > 0 && listeners.size > 0)
      timer = setTimeout(read, Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1)));
    listeners.notify();
  }

  return {
    current,
    subscribe(listener) {
      const remove = listeners.subscribe(listener);
      unsubscribe ??= auth.subscribe(() => {
        listeners.notify();
        void read();
      });
      void read();
      return () => {
        remove();
        if (listeners.size > 0) return;
        clearTimeout(timer);
        unsubscribe?.();
        unsubscribe = undefined;
      };
    },
  };
}

/** Returns the tracker of a client's session. */
export function trackSession(origin: Origin): SessionTracker {
  const tracker = trackers.get(origin) ?? createTracker(origin);
  trackers.set(origin, tracker);
  return tracker;
}

/** The id of the signed-in user; null if nobody is signed in or the user is not known yet. */
export const userIdOf = ({ session }: SessionState): string | null => session?.user.id ?? null;

/**
 * Checks, right before a request is sent, that it will be sent for a user. The session may have changed since the request was planned.
 *
 * @throws ApiError `SESSION_CHANGED` for another user
 */
export async function assertUser(origin: Origin, userId: string | null): Promise<void> {
  const { current } = trackSession(origin);
  if (current().isPending) await origin.auth?.ready();
  const state = current();
  if (!state.isPending && userIdOf(state) === userId) return;
  const message =
    'The session has changed since the request was planned. Await client.auth.ready() before the first one';
  throw new ApiError({ status: 0, code: 'SESSION_CHANGED', message });
}

/**
 * Loads for one user.
 *
 * @throws ApiError `SESSION_CHANGED` instead of a response that may be that of another user
 */
export async function loadAs<T>(origin: Origin, userId: string | null, load: () => Promise<T>): Promise<T> {
  await assertUser(origin, userId);
  const result = await load();
  await assertUser(origin, userId);
  return result;
}
