import { ApiError, readApiError } from '../request/errors.ts';
import type { SessionStorage, StoredSession } from './storage.ts';

/** A session without its token, which a server may write into a page. */
export interface PageSession<User = unknown> {
  /** Names the session; only the handler of `cookieSession` can use it, together with the cookie. */
  sessionId: string;
  user: User;
  expiresAt?: string | undefined;
}

/** The parts of a `BroadcastChannel` that tabs use. */
interface Channel {
  onmessage: (() => void) | null;
  postMessage(message: unknown): void;
  close(): void;
}

/** The parts of a browser's `window` that this storage uses. */
interface TabWindow {
  document?: object;
  BroadcastChannel?: new (name: string) => Channel;
}

/** Opens a channel to the other tabs; undefined outside of pages, where a channel would keep the process running. */
function createChannel(): Channel | undefined {
  const { document, BroadcastChannel } = globalThis as unknown as TabWindow;
  return document && BroadcastChannel && new BroadcastChannel('belfry.session');
}

/**
 * Keeps the session in a cookie that page scripts cannot read. The page sends its requests to its own origin, where the handler of
 * `cookieSession` passes them on to the API.
 *
 * @param options `initial`: the session that the server has written into the page; without it, the client asks the handler. `fetch` and
 *   `url`: how and where the handler is asked; default: the global `fetch`, the origin of the page
 * @example
 * const client = createClient<typeof app>({ url: location.origin, storage: cookieStorage() });
 */
export function cookieStorage({
  initial,
  url = '',
  fetch: send = (...given) => fetch(...given),
}: {
  initial?: PageSession | undefined;
  url?: string;
  fetch?: typeof fetch;
} = {}): SessionStorage {
  const toStored = ({ sessionId, ...rest }: PageSession): StoredSession => ({ ...rest, token: sessionId });
  let known = initial && toStored(initial);
  /** Whether only the cookie, which all tabs share, says which session there is. Outside of pages, there is no cookie. */
  let isStale = initial === undefined && (url !== '' || 'document' in globalThis);
  let asking: Promise<void> | undefined;
  let channel: Channel | undefined;

  /** @throws ApiError, because every request of the client may need the session */
  async function askServer(): Promise<StoredSession | undefined> {
    const target = `${url}/api/auth/session`;
    try {
      const response = await send(target, {
        // The handler requires the header, because other origins cannot send it.
        headers: { authorization: 'Bearer sid_current', accept: 'application/json' },
        cache: 'no-store',
      });
      if (!response.ok) throw await readApiError(response, `GET ${target}`);
      const { data } = (await response.json()) as { data: PageSession | null };
      return data === null ? undefined : toStored(data);
    } catch (cause) {
      if (cause instanceof ApiError) throw cause;
      const message = `The session could not be read from ${target}: ${(cause as Error)?.message}`;
      throw new ApiError({ status: 0, code: 'NETWORK_ERROR', message, cause });
    }
  }

  /** Reads what the cookie stands for. A sign-in meanwhile is newer than the response. */
  async function refresh(): Promise<void> {
    isStale = false;
    const before = known;
    try {
      const found = await askServer();
      if (known === before && !isStale) known = found;
    } catch (error) {
      isStale = true;
      throw error;
    } finally {
      asking = undefined;
    }
  }

  /** Tells the other tabs that the cookie, or what they know about it, has changed. */
  const notifyTabs = () => {
    const sender = channel ?? createChannel();
    sender?.postMessage('changed');
    if (sender !== channel) sender?.close();
  };

  return {
    hidesToken: true,
    async read() {
      while (isStale || asking !== undefined) {
        asking ??= refresh();
        await asking;
      }
      return known;
    },
    write(session) {
      known = session;
      isStale = false;
      notifyTabs();
    },
    remove() {
      isStale = true;
      notifyTabs();
    },
    subscribe(listener) {
      channel = createChannel();
      if (channel !== undefined) {
        channel.onmessage = () => {
          isStale = true;
          listener();
        };
      }
      return () => {
        channel?.close();
        channel = undefined;
      };
    },
  };
}
