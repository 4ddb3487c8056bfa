/** The session that a cookie contains. */
export interface CookieContent {
  token: string;
  /** Epoch ms. */
  expiresAtMs: number;
}

/** A session token, as the server creates it. */
export const SESSION_TOKEN = /^svc_[0-9a-f]{64}$/;
const CONTENT = /^(svc_[0-9a-f]{64})\.(\d{1,15})$/;
const LOCAL_ORIGIN = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/** What reads and writes the cookie of a session. */
export interface SessionCookie {
  /** Returns the session in a `Cookie` header; undefined without one, and if the cookie is invalid, expired or there twice. */
  read(header: string | null): CookieContent | undefined;
  /** Returns the `Set-Cookie` header that stores a session. */
  serialize(content: CookieContent): string;
  /** Returns the `Set-Cookie` header that removes the cookie. */
  serializeRemoval(): string;
}

/**
 * Creates the cookie of an origin. Scripts cannot read it, and browsers send it neither with requests that other sites start nor over http.
 * With https, the prefix `__Host-` prevents that another host of the domain sets it. On http://localhost it has no prefix.
 *
 * @param name of the cookie, without the prefix
 * @throws TypeError for an origin with http on any other host, and for an invalid name
 */
export function createSessionCookie(origin: string, name: string): SessionCookie {
  const isLocal = LOCAL_ORIGIN.test(origin);
  if (!isLocal && !origin.startsWith('https://'))
    throw new TypeError(`origin must be an https origin, or http://localhost, not "${origin}"`);
  if (!/^[\w-]{1,64}$/.test(name)) throw new TypeError(`name must be 1 to 64 letters, digits, - or _, not "${name}"`);
  const fullName = `${isLocal ? '' : '__Host-'}${name}`;
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isLocal ? '' : '; Secure'}`;

  return {
    read(header) {
      const start = `${fullName}=`;
      const pairs = (header ?? '').split(/; */).filter((pair) => pair.startsWith(start));
      // A second cookie of the same name has been set by another path or host: there is no telling which one is genuine.
      const match = pairs.length === 1 ? CONTENT.exec(pairs[0]!.slice(start.length)) : null;
      if (match === null) return undefined;
      const content = { token: match[1]!, expiresAtMs: Number(match[2]) };
      return content.expiresAtMs > Date.now() ? content : undefined;
    },
    serialize({ token, expiresAtMs }) {
      if (!SESSION_TOKEN.test(token)) throw new TypeError('The token is not that of a session');
      const maxAge = Math.max(0, Math.floor((expiresAtMs - Date.now()) / 1000));
      return `${fullName}=${token}.${expiresAtMs}; Max-Age=${maxAge}; ${attributes}`;
    },
    serializeRemoval: () => `${fullName}=; Max-Age=0; ${attributes}`,
  };
}

/**
 * Returns the public id of a session: pages use it instead of the token, and the handler compares it with the cookie. It is derived from the
 * token, which it does not reveal.
 */
export async function computeSessionId(token: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`belfry session id:${token}`));
  const bytes = new Uint8Array(digest).subarray(0, 16);
  return `sid_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
