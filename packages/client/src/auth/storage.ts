/** A session as a storage keeps it. */
export interface StoredSession<User = unknown> {
  /** The token of the session; in a storage with `hidesToken`, the public id of the session instead. */
  token: string;
  /** The signed-in user. Missing: it is read from the API when it is needed. */
  user?: User | undefined;
  /** When the session ends, as ISO text. Missing: only the server knows. */
  expiresAt?: string | undefined;
}

/**
 * Where a client keeps its session. Write one for a platform without `localStorage`, such as the key store of a phone.
 *
 * @example
 * const storage: SessionStorage = {
 *   read: async () => JSON.parse((await SecureStore.getItemAsync('session')) ?? 'null') ?? undefined,
 *   write: (session) => SecureStore.setItemAsync('session', JSON.stringify(session)),
 *   remove: () => SecureStore.deleteItemAsync('session'),
 * };
 */
export interface SessionStorage {
  /** Returns the stored session. Called when the client is created, and after each call of a listener. */
  read(): StoredSession | undefined | Promise<StoredSession | undefined>;
  /** Stores a session in place of another one, or changes of its user. */
  write(session: StoredSession): void | Promise<void>;
  remove(): void | Promise<void>;
  /** Calls the listener after another tab or process has changed the storage. Returns an unsubscribe function. */
  subscribe?(listener: () => void): () => void;
  /** Whether the token is in a cookie that pages cannot read: the client knows only the id of the session. */
  readonly hidesToken?: boolean;
}

/** A storage of texts: `localStorage`, `sessionStorage`, or the asynchronous one of React Native. */
export interface KeyValueStorage {
  getItem(key: string): string | null | Promise<string | null>;
  setItem(key: string, value: string): unknown;
  removeItem(key: string): unknown;
}

interface WebStorage {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** The parts of a browser's `window` that storages use. */
interface BrowserWindow {
  document?: object;
  location?: { origin: string };
  localStorage: WebStorage;
  sessionStorage: WebStorage;
  addEventListener(type: string, listener: (event: { key?: string | null; persisted?: boolean }) => void): void;
  removeEventListener(type: string, listener: (event: { key?: string | null; persisted?: boolean }) => void): void;
}

const page = globalThis as unknown as BrowserWindow;

/** Whether this is a page of a browser. Servers may have a `localStorage` too, which all of their users would share. */
const isPage = () => page.document !== undefined && page.location !== undefined;

/** Whether the browser lets this page use a storage. */
function hasStorage(name: 'localStorage' | 'sessionStorage'): boolean {
  try {
    return isPage() && page[name] !== undefined;
  } catch {
    // Access alone throws if the user has blocked storage.
    return false;
  }
}

/** Keeps the session until the page is closed. The default where there is no `localStorage`. */
export function memoryStorage(): SessionStorage {
  let stored: StoredSession | undefined;
  return {
    read: () => stored,
    write(session) {
      stored = session;
    },
    remove() {
      stored = undefined;
    },
  };
}

/** The key of the token in localStorage. The sign-in pages of the extension `signInPages` use the same one. */
const TOKEN_KEY = 'belfry.token';
/** Length of the token suffix that binds the stored user to it. The other 224 random bits stay in one place. */
const BINDING_LENGTH = 8;

/**
 * Keeps the session in `localStorage`: it outlives the page, and all tabs of the origin share it. The default in browsers.
 *
 * Every script of the page can read it. `cookieStorage` keeps the token out of reach of scripts. Where there is no `localStorage`, it is like
 * `memoryStorage`.
 *
 * @param options `key` of the token; default `belfry.token`, which the sign-in pages of Belfry use. The user is stored under
 *   `<key>.user`
 */
export function localStorageSession({ key = TOKEN_KEY }: { key?: string } = {}): SessionStorage {
  if (!hasStorage('localStorage')) return memoryStorage();
  const storage = page.localStorage;
  const detailsKey = `${key}.user`;
  const remove = () => {
    storage.removeItem(key);
    storage.removeItem(detailsKey);
  };
  /** The sign-in pages remove only the token. */
  const removeLeftUser = () => {
    if (storage.getItem(key) === null) storage.removeItem(detailsKey);
  };
  removeLeftUser();

  function readDetails(token: string): Omit<StoredSession, 'token'> {
    try {
      const { binding, user, expiresAt } = JSON.parse(storage.getItem(detailsKey) ?? '{}') ?? {};
      // The sign-in pages replace only the token.
      return binding === token.slice(-BINDING_LENGTH) ? { user, expiresAt } : {};
    } catch (error) {
      if (error instanceof SyntaxError) return {};
      throw error;
    }
  }

  return {
    read() {
      const token = storage.getItem(key);
      return token ? { token, ...readDetails(token) } : undefined;
    },
    write({ token, user, expiresAt }) {
      const details = JSON.stringify({ binding: token.slice(-BINDING_LENGTH), user, expiresAt });
      try {
        // The details come first: other tabs read both when the token changes.
        storage.setItem(detailsKey, details);
        if (storage.getItem(key) !== token) storage.setItem(key, token);
      } catch {
        // The storage is full: the session lasts until the page is closed. That of a former user must not come back then.
        remove();
      }
    },
    remove,
    subscribe(listener) {
      const onStorage = ({ key: changed }: { key?: string | null }) => {
        if (changed === key) removeLeftUser();
        if (changed === null || changed === key || changed === detailsKey) listener();
      };
      // A page that the browser had frozen has missed the changes of that time.
      const onPageShow = ({ persisted }: { persisted?: boolean }) => {
        if (persisted) listener();
      };
      page.addEventListener('storage', onStorage);
      page.addEventListener('pageshow', onPageShow);
      return () => {
        page.removeEventListener('storage', onStorage);
        page.removeEventListener('pageshow', onPageShow);
      };
    },
  };
}

/** Returns the storage of a client that names none. The token of an API on another origin never mixes with that of this origin. */
export function defaultStorage(url: string): SessionStorage {
  if (!hasStorage('localStorage')) return memoryStorage();
  const { origin } = new URL(url, page.location!.origin);
  return localStorageSession(origin === page.location!.origin ? {} : { key: `${TOKEN_KEY}@${origin}` });
}

/** Keeps texts until the page is closed. */
function memoryKeyValueStorage(): KeyValueStorage {
  const values = new Map<string, string>();
  return {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => values.set(key, value),
    removeItem: (key) => values.delete(key),
  };
}

/** What the next step of a sign-in needs, after a page has been left. The sign-in pages of Belfry use the same keys and formats. */
export interface FlowStorage {
  read<T>(key: FlowKey): Promise<T | undefined>;
  write(key: FlowKey, value: unknown): Promise<void>;
  remove(key: FlowKey): Promise<void>;
}

/** `oidc` and `challenge` belong to a tab; links in e-mails open new tabs, which need the others. */
export type FlowKey = 'oidc' | 'emailSignIn' | 'verificationToken';

/**
 * Creates the storage of unfinished sign-ins.
 *
 * @param given for all of them; default: `sessionStorage` and `localStorage` in browsers, otherwise the memory
 */
export function createFlowStorage(given: KeyValueStorage | undefined): FlowStorage {
  const memory = memoryKeyValueStorage();
  const storageFor = (key: FlowKey): KeyValueStorage => {
    const name = key === 'oidc' ? 'sessionStorage' : 'localStorage';
    return given ?? (hasStorage(name) ? page[name] : memory);
  };
  // The verification token is stored as plain text, the other values as JSON.
  const isText = (key: FlowKey) => key === 'verificationToken';
  return {
    async read<T>(key: FlowKey) {
      const text = await storageFor(key).getItem(`belfry.${key}`);
      if (text === null || isText(key)) return (text ?? undefined) as T | undefined;
      try {
        return (JSON.parse(text) ?? undefined) as T | undefined;
      } catch {
        // Not written by a client.
        return undefined;
      }
    },
    async write(key, value) {
      await storageFor(key).setItem(`belfry.${key}`, isText(key) ? String(value) : JSON.stringify(value));
    },
    async remove(key) {
      await storageFor(key).removeItem(`belfry.${key}`);
    },
  };
}
