import { createHash, randomBytes } from 'node:crypto';
import type { ApiResponse, Client } from '../../support/app.ts';

/** The address of the app in these tests. Its host is not resolved: a browser of these tests connects to the local port instead. */
export const APP_URL = 'https://api.example.com';
export const PAGE = 'https://app.example.com/auth/callback';

export const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url');
export const newVerifier = () => randomBytes(32).toString('base64url');

/** A browser: it keeps the cookies of the app, and follows redirects one at a time. */
export interface OidcBrowser {
  /** The `Cookie` header of the app; empty without cookies. */
  cookies(): string;
  /** The last `Set-Cookie` header. */
  lastSetCookie(): string;
  /** Opens a URL and returns the response. */
  open(url: string | URL, init?: RequestInit): Promise<Response>;
  /** Opens a URL and returns the URL to which it redirects. */
  follow(url: string | URL, init?: RequestInit): Promise<URL>;
  /** Starts a sign-in and returns the URL at the provider. */
  start(provider: string, options?: { verifier?: string; redirectUrl?: string }): Promise<URL>;
  /** Goes through the provider and returns the page of the front end to which the user returns. */
  signIn(provider: string, verifier: string): Promise<URL>;
}

/** Creates a browser without cookies. @param appUrl the local address of the app */
export function createBrowser(appUrl: string): OidcBrowser {
  const jar = new Map<string, string>();
  let lastSetCookie = '';
  const cookies = () => Array.from(jar, ([name, value]) => `${name}=${value}`).join('; ');

  async function open(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const target = String(url);
    const isApp = target.startsWith(`${APP_URL}/`);
    const headers = new Headers(init.headers);
    if (isApp && jar.size > 0) headers.set('cookie', cookies());
    const local = isApp ? appUrl + target.slice(APP_URL.length) : target;
    const response = await fetch(local, { ...init, headers, redirect: 'manual' });
    for (const cookie of response.headers.getSetCookie()) {
      lastSetCookie = cookie;
      const [name, value] = cookie.split(';', 1)[0]!.split('=') as [string, string];
      jar.set(name, value);
    }
    return response;
  }

  async function follow(url: string | URL, init?: RequestInit): Promise<URL> {
    const response = await open(url, init);
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${url} did not redirect: ${response.status} ${await response.text()}`);
    return new URL(location);
  }

  function start(
    provider: string,
    { verifier = newVerifier(), redirectUrl }: { verifier?: string; redirectUrl?: string } = {},
  ) {
    const query = new URLSearchParams({
      codeChallenge: challengeOf(verifier),
      ...(redirectUrl ? { redirectUrl } : {}),
    });
    return follow(`${APP_URL}/api/auth/oidc/${provider}/start?${query}`);
  }

  return {
    cookies,
    lastSetCookie: () => lastSetCookie,
    open,
    follow,
    start,
    async signIn(provider, verifier) {
      const callback = await follow(await start(provider, { verifier }));
      return follow(callback);
    },
  };
}

/** Signs in with a new browser, as a front end does, and returns the response of the exchange. */
export async function signInWith(url: string, call: Client, provider: string): Promise<ApiResponse> {
  const verifier = newVerifier();
  const page = await createBrowser(url).signIn(provider, verifier);
  const code = page.searchParams.get('code');
  if (code === null) throw new Error(`the sign-in failed: ${page}`);
  return call('POST', '/api/auth/oidc/exchange', { code, codeVerifier: verifier });
}
