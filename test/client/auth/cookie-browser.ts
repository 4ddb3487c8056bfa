import {
  type CookieSessionOptions,
  cookieSession,
  cookieStorage,
  createClient,
} from '../../../packages/client/src/index.ts';
import { defineResource, defineUser, f, oidc, realtime } from '../../../src/index.ts';
import { startFakeProvider } from '../../fakes/oidc-provider.ts';
import { startTestApp } from '../../support/app.ts';

export const PASSWORD = 'correct horse battery';
export const ORIGIN = 'https://app.example.com';

const note = defineResource('note', {
  fields: { text: f.string(), author: f.ref('user').owner() },
  policies: { list: 'owner', read: 'owner' },
});

/** The headers that a browser adds to a request of a page. */
export const OWN_PAGE = { origin: ORIGIN, 'sec-fetch-site': 'same-origin' };

/** Starts an app for the test file, and returns what creates browsers whose pages keep their session in a cookie. */
export async function startCookieApp() {
  const fake = await startFakeProvider();
  const { url, person } = await startTestApp(
    {
      resources: [defineUser(), note],
      extensions: [
        realtime(),
        oidc({ providers: { acme: { issuer: fake.issuer, clientId: 'a', clientSecret: 'b' } } }),
      ],
    },
    { roles: 'all' },
  );

  /** A browser with the cookies of one origin, whose pages reach the handler through `fetch`. */
  function createBrowser(options: Partial<CookieSessionOptions> = {}) {
    const cookies = cookieSession({ url, origin: ORIGIN, ...options });
    const jar = new Map<string, string>();
    const responses: { headers: Headers; text: string }[] = [];
    const pageFetch: typeof fetch = async (target, init) => {
      const headers = new Headers(init?.headers);
      for (const [name, value] of Object.entries(OWN_PAGE)) headers.set(name, value);
      headers.set('cookie', Array.from(jar, ([name, value]) => `${name}=${value}`).join('; '));
      const response = await cookies.handle(new Request(String(target), { ...init, headers }));
      for (const cookie of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie)!;
        if (cookie.includes('Max-Age=0;')) jar.delete(name!);
        else jar.set(name!, value!);
      }
      // A stream of events does not end.
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
      responses.push({ headers: response.headers, text: isStream ? '' : await response.clone().text() });
      return response;
    };
    return {
      cookies,
      jar,
      responses,
      pageFetch,
      openTab: () =>
        createClient({ url: ORIGIN, fetch: pageFetch, storage: cookieStorage({ url: ORIGIN, fetch: pageFetch }) }),
      cookieHeader: () => Array.from(jar, ([name, value]) => `${name}=${value}`).join('; '),
    };
  }

  /** Sends a request to the handler as it is, with the cookie of a browser. */
  function sendTo(
    { cookies, cookieHeader }: ReturnType<typeof createBrowser>,
    path: string,
    { headers, ...init }: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
  ): Promise<Response> {
    return cookies.handle(new Request(ORIGIN + path, { ...init, headers: { cookie: cookieHeader(), ...headers } }));
  }

  /** Signs a new user in, in a new browser. */
  async function signedIn(name: string, options: Partial<CookieSessionOptions> = {}) {
    const browser = createBrowser(options);
    const user = await person(name);
    const tab = browser.openTab();
    await tab.auth.signIn({ email: user.email, password: PASSWORD });
    const content = browser.jar.get('__Host-belfry')!;
    const sessionId = JSON.parse(browser.responses.at(-1)!.text).data.sessionId as string;
    return { ...user, browser, tab, content, sessionId };
  }

  return { url, person, createBrowser, sendTo, signedIn };
}
