import type { CallOptions, Requester, TokenSource } from '../request/request.ts';
import type { SessionStorage, StoredSession } from './storage.ts';

/** A signed-in user with their session. */
export interface Session<User = AuthUser> {
  readonly user: User;
  /** The token; undefined if it is in a cookie that pages cannot read. It is not enumerable, so JSON and logs of the session lack it. */
  readonly token: string | undefined;
  /** When the session ends, as ISO text; undefined if only the server knows. */
  readonly expiresAt: string | undefined;
}

/** What every user has. */
export interface AuthUser {
  id: string;
}

/**
 * Called with the new session, or undefined, after a sign-in, a sign-out, or a change of the user; also by another tab. A session whose user is
 * not known yet is undefined.
 */
export type SessionListener<User = AuthUser> = (session: Session<User> | undefined) => void;

/** The longest delay of a timer in ms: longer ones would end at once. A session may last longer. */
const MAX_TIMER_MS = 2_147_483_647;

/** Whether an error says that the token of the request is not valid, or that there was none. */
const isUnauthorized = (error: unknown) => (error as { status?: unknown } | null)?.status === 401;

/** The session of a client, and its connection with the storage and other tabs. */
export interface SessionStore<User> extends TokenSource {
  readonly current: Session<User> | undefined;
  /** The token of the session, also if its user is not known yet. */
  readonly token: string | undefined;
  readonly hidesToken: boolean;
  /** Waits until the storage has been read. */
  settled(): Promise<void>;
  subscribe(listener: SessionListener<User>): () => void;
  /** Begins a session in place of another one, and stores it. */
  start(session: StoredSession<User>): Promise<void>;
  /** Ends the session if it still has this token, in the storage as well. */
  end(token: string): Promise<void>;
  /** Changes the user, if the session still has this token: a response that arrives late may be that of another user. */
  changeUser(token: string, change: (user: User | undefined) => User | undefined): Promise<void>;
  /** Reads the user from the API. Returns undefined without a session. */
  refreshUser(options?: CallOptions): Promise<User | undefined>;
}

/** Creates a session whose token is missing from JSON and from logs, because apps log and serialize their state. */
function createVisibleSession<User>(user: User, token: string | undefined, expiresAt: string | undefined) {
  return Object.defineProperty({ user, expiresAt }, 'token', { value: token }) as Session<User>;
}

/** Creates the session of a client, and reads it from the storage. @param requester called when the user is read */
export function createSessionStore<User extends AuthUser>(
  storage: SessionStorage,
  requester: () => Requester,
): SessionStore<User> {
  const listeners = new Set<SessionListener<User>>();
  const { hidesToken = false } = storage;
  let stored: StoredSession<User> | undefined;
  let visible: Session<User> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Grows with every change of the token, so that an older read of the storage cannot undo it. */
  let version = 0;
  let hasRead = false;
  let reading: Promise<void> | undefined;
  let saving: Promise<unknown> = Promise.resolve();

  const msLeft = ({ expiresAt }: { expiresAt?: string | undefined }) =>
    expiresAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - Date.now();
  const isLive = (session: StoredSession<User> | undefined) => session !== undefined && !(msLeft(session) <= 0);

  function notify(): void {
    for (const listener of [...listeners]) {
      try {
        listener(visible);
      } catch (error) {
        // The error of a listener is reported like that of an event listener: it must not fail the sign-in.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  /** Ends the session when its time is over, although no request is sent. */
  function schedule(): void {
    clearTimeout(timer);
    const delay = stored === undefined ? Number.POSITIVE_INFINITY : msLeft(stored);
    if (!Number.isFinite(delay)) return;
    timer = setTimeout(
      () => {
        if (stored !== undefined && !isLive(stored)) onTokenRefused(stored.token);
        else schedule();
      },
      Math.min(Math.max(delay, 0), MAX_TIMER_MS),
    );
    // In Node, a session must not keep the process running.
    (timer as { unref?: () => void }).unref?.();
  }

  function set(next: StoredSession<User> | undefined): void {
    const isOther = next?.token !== stored?.token;
    if (isOther) version += 1;
    const hadSession = visible !== undefined;
    stored = next;
    const { token, user, expiresAt } = next ?? {};
    visible = user === undefined ? undefined : createVisibleSession(user, hidesToken ? undefined : token, expiresAt);
    schedule();
    // Also if the user is not known yet: requests and streams use another token from now on.
    if (isOther || hadSession || visible !== undefined) notify();
  }

  const withoutMissing = (session: StoredSession<User>): StoredSession<User> => JSON.parse(JSON.stringify(session));

  /** Adopts the stored session. */
  function adopt(found: StoredSession<User> | undefined): void {
    const live = isLive(found) ? found! : undefined;
    // The same session without a user: the sign-in pages know only the token.
    const next = live !== undefined && live.token === stored?.token ? { ...stored, ...withoutMissing(live) } : live;
    if (JSON.stringify(next) !== JSON.stringify(stored)) set(next);
    // Remove expired sessions.
    if (found !== undefined && live === undefined && !hidesToken) onTokenRefused(found.token);
  }

  /** Reads the storage. The result is dropped if the session has changed since. */
  function readStorage(): void | Promise<void> {
    const readVersion = version;
    const found = storage.read();
    // Not by `instanceof`: some platforms replace the global Promise.
    if (found === undefined || !('then' in found)) return adopt(found as StoredSession<User> | undefined);
    return found.then((session) => {
      if (readVersion === version) adopt(session as StoredSession<User> | undefined);
    });
  }

  /** Runs changes of the storage one after the other. */
  function save<T>(change: () => T | Promise<T>): Promise<T> {
    const saved = saving.then(change);
    // The caller gets the error; the next change runs in any case.
    saving = saved.catch(() => undefined);
    return saved;
  }

  async function end(token: string): Promise<void> {
    if (stored?.token === token) set(undefined);
    await save(async () => {
      const found = await storage.read();
      // Another tab may have signed in since: its session stays, and becomes that of this tab.
      if (found?.token === token) await storage.remove();
      // With a cookie, only the server knows whether there is another session.
      const left = found?.token === token && hidesToken ? await storage.read() : found;
      if (stored === undefined && left?.token !== token) adopt(left as StoredSession<User> | undefined);
    });
  }

  /** Ends the session when no caller can receive a storage error: in this client, it has ended in any case. */
  function onTokenRefused(token: string): void {
    end(token).catch(() => undefined);
  }

  async function changeUser(token: string, change: (user: User | undefined) => User | undefined): Promise<void> {
    if (stored?.token !== token) return;
    set({ ...stored, user: change(stored.user) });
    const next = stored;
    await save(async () => {
      // A write for a session that another tab has replaced would bring the former one back.
      if ((await storage.read())?.token === token) await storage.write(next);
    });
  }

  async function refreshUser(options?: CallOptions): Promise<User | undefined> {
    await settle();
    const token = stored?.token;
    if (token === undefined) return undefined;
    try {
      const { data } = await requester().send<User>({ ...options, method: 'GET', path: '/auth/me', token });
      await changeUser(token, () => data);
    } catch (error) {
      if (!isUnauthorized(error)) throw error;
      await end(token);
    }
    return visible?.user;
  }

  /** Reads the storage once. A read that failed is tried again when the session is needed. */
  function settle(): void | Promise<void> {
    if (hasRead) return;
    if (reading === undefined) {
      const read = readStorage();
      if (read === undefined) {
        hasRead = true;
        return;
      }
      reading = read
        .then(() => {
          hasRead = true;
        })
        .finally(() => {
          reading = undefined;
        });
    }
    return reading;
  }

  storage.subscribe?.(() => {
    void Promise.resolve(readStorage()).then(async () => {
      // The sign-in pages store no user. If the API cannot be reached now, `ready` and `user` try again.
      if (stored !== undefined && stored.user === undefined) await refreshUser().catch(() => undefined);
    });
  });

  // Calls that need the session get the error.
  settle()?.catch(() => undefined);

  return {
    hidesToken,
    get current() {
      return isLive(stored) ? visible : undefined;
    },
    get token() {
      return isLive(stored) ? stored!.token : undefined;
    },
    settled: async () => settle(),
    getToken() {
      const read = () => (isLive(stored) ? stored!.token : undefined);
      const settling = settle();
      return settling === undefined ? read() : settling.then(read);
    },
    onTokenRefused,
    subscribe(listener) {
      // A wrapper, so that a function can subscribe twice.
      const own: SessionListener<User> = (session) => listener(session);
      listeners.add(own);
      return () => void listeners.delete(own);
    },
    async start(session) {
      set(session);
      try {
        await save(() => storage.write(session));
      } catch (error) {
        // A sign-in that rejects leaves no session.
        if (stored?.token === session.token) set(undefined);
        throw error;
      }
    },
    end,
    changeUser,
    refreshUser,
  };
}
