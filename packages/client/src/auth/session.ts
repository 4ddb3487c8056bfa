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
export const isUnauthorized = (error: unknown) => (error as { status?: unknown } | null)?.status === 401;

/** Creates a session whose token is missing from JSON and from logs, because apps log and serialize their state. */
function createVisibleSession<User>(user: User, token: string | undefined, expiresAt: string | undefined) {
  return Object.defineProperty({ user, expiresAt }, 'token', { value: token }) as Session<User>;
}

/** How long a session lasts from now on, in ms; NaN if only the server knows, or without a session. */
const msLeft = (session: StoredSession | undefined) => Date.parse(session?.expiresAt ?? '') - Date.now();

/** Drops a session whose time is over. */
const ifLive = <Found extends StoredSession>(session: Found | undefined) =>
  msLeft(session) <= 0 ? undefined : session;

/** The session of a client, and its connection with the storage and other tabs. */
export class SessionStore<User extends AuthUser = AuthUser> implements TokenSource {
  /** Whether the token is in a cookie: the storage, and this class, have the id of the session in its place. */
  readonly hidesToken: boolean;
  readonly #storage: SessionStorage;
  readonly #requester: () => Requester;
  readonly #listeners = new Set<() => void>();
  #stored: StoredSession<User> | undefined;
  #visible: Session<User> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Grows with every change of the token, so that an older read of the storage cannot undo it. */
  #version = 0;
  #hasRead = false;
  #reading: Promise<void> | undefined;
  #saving: Promise<unknown> = Promise.resolve();

  /** Reads the session from the storage. @param requester called when the user is read */
  constructor(storage: SessionStorage, requester: () => Requester) {
    this.#storage = storage;
    this.#requester = requester;
    this.hidesToken = storage.hidesToken ?? false;
    storage.subscribe?.(async () => {
      await this.#readStorage();
      // The sign-in pages store no user. If the API cannot be reached now, `ready` and `user` try again.
      if (this.#stored?.user === undefined) await this.refreshUser().catch(() => undefined);
    });
    // Calls that need the session get the error.
    this.settle()?.catch(() => undefined);
  }

  get current(): Session<User> | undefined {
    return ifLive(this.#stored) && this.#visible;
  }

  /** The token of the session, also if its user is not known yet. */
  get token(): string | undefined {
    return ifLive(this.#stored)?.token;
  }

  // The methods that `client.auth` passes on are bound.

  readonly getToken = (): string | undefined | Promise<string | undefined> => {
    const settling = this.settle();
    return settling === undefined ? this.token : settling.then(() => this.token);
  };

  readonly subscribe = (listener: SessionListener<User>): (() => void) => {
    // A wrapper, so that a function can subscribe twice.
    const own = () => listener(this.#visible);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  };

  /** Waits until the storage has been read: once. A read that failed is tried again when the session is needed. */
  settle(): void | Promise<void> {
    if (this.#hasRead || this.#reading !== undefined) return this.#reading;
    const read = this.#readStorage();
    this.#hasRead = read === undefined;
    this.#reading = read
      ?.then(() => {
        this.#hasRead = true;
      })
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  /** Begins a session in place of another one, and stores it. */
  async start(session: StoredSession<User>): Promise<void> {
    this.#set(session);
    try {
      await this.#save(() => this.#storage.write(session));
    } catch (error) {
      // A sign-in that rejects leaves no session.
      if (this.#stored?.token === session.token) this.#set(undefined);
      throw error;
    }
  }

  /** Ends the session if it still has this token, in the storage as well. */
  async end(token: string): Promise<void> {
    if (this.#stored?.token === token) this.#set(undefined);
    await this.#save(async () => {
      const found = await this.#storage.read();
      // Another tab may have signed in since: its session stays, and becomes that of this tab.
      if (found?.token === token) await this.#storage.remove();
      // With a cookie, only the server knows whether there is another session.
      const left = found?.token === token && this.hidesToken ? await this.#storage.read() : found;
      if (this.#stored === undefined && left?.token !== token) this.#adopt(left);
    });
  }

  /** Ends the session when no caller can receive a storage error: in this client, it has ended in any case. */
  readonly onTokenRefused = (token: string): void => {
    this.end(token).catch(() => undefined);
  };

  /** Changes the user, if the session still has this token: a response that arrives late may be that of another user. */
  async changeUser(token: string, change: (user: User | undefined) => User | undefined): Promise<void> {
    if (this.#stored?.token !== token) return;
    this.#set({ ...this.#stored, user: change(this.#stored.user) });
    const next = this.#stored;
    await this.#save(async () => {
      // A write for a session that another tab has replaced would bring the former one back.
      if ((await this.#storage.read())?.token === token) await this.#storage.write(next);
    });
  }

  /** Reads the user from the API. Returns undefined without a session. */
  readonly refreshUser = async (options?: CallOptions): Promise<User | undefined> => {
    await this.settle();
    const token = this.#stored?.token;
    if (token === undefined) return undefined;
    try {
      const { data } = await this.#requester().send<User>({ ...options, method: 'GET', path: '/auth/me', token });
      await this.changeUser(token, () => data);
    } catch (error) {
      if (!isUnauthorized(error)) throw error;
      await this.end(token);
    }
    return this.#visible?.user;
  };

  #set(next: StoredSession<User> | undefined): void {
    const isOther = next?.token !== this.#stored?.token;
    if (isOther) this.#version += 1;
    const hadSession = this.#visible !== undefined;
    this.#stored = next;
    const { token, user, expiresAt } = next ?? {};
    this.#visible =
      user === undefined ? undefined : createVisibleSession(user, this.hidesToken ? undefined : token, expiresAt);
    this.#scheduleEnd();
    // Also if the user is not known yet: requests and streams use another token from now on.
    if (isOther || hadSession || this.#visible !== undefined) this.#notify();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (error) {
        // The error of a listener is reported like that of an event listener: it must not fail the sign-in.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  /** Ends the session when its time is over, although no request is sent. */
  #scheduleEnd(): void {
    clearTimeout(this.#timer);
    const delay = msLeft(this.#stored);
    if (Number.isNaN(delay)) return;
    this.#timer = setTimeout(
      () => {
        if (this.token === undefined) this.onTokenRefused(this.#stored!.token);
        else this.#scheduleEnd();
      },
      Math.min(Math.max(delay, 0), MAX_TIMER_MS),
    );
    // In Node, a session must not keep the process running.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** Reads the storage. The result is dropped if the session has changed since. */
  #readStorage(): void | Promise<void> {
    const version = this.#version;
    const found = this.#storage.read();
    // Not by `instanceof`: some platforms replace the global Promise.
    if (found === undefined || !('then' in found)) return this.#adopt(found);
    return found.then((session) => {
      if (version === this.#version) this.#adopt(session);
    });
  }

  /** Goes on with the session of the storage. */
  #adopt(found: StoredSession | undefined): void {
    const live = ifLive(found) as StoredSession<User> | undefined;
    // The same session without a user: the sign-in pages know only the token.
    const isSame = live !== undefined && live.token === this.#stored?.token;
    const next = isSame ? { ...this.#stored, ...(JSON.parse(JSON.stringify(live)) as typeof live) } : live;
    if (JSON.stringify(next) !== JSON.stringify(this.#stored)) this.#set(next);
    // Remove expired sessions.
    if (found !== undefined && live === undefined && !this.hidesToken) this.onTokenRefused(found.token);
  }

  /** Runs changes of the storage one after the other. */
  #save(change: () => void | Promise<void>): Promise<void> {
    const saved = this.#saving.then(change);
    // The caller gets the error; the next change runs in any case.
    this.#saving = saved.catch(() => undefined);
    return saved;
  }
}
